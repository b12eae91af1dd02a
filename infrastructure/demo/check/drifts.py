"""Edits at the panel itself: each is on record as a drift, once, and repaired."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from infrastructure.demo.check.books import Ask, Books
from infrastructure.demo.check.owed import Owed, owed
from infrastructure.demo.diary import Edit

_DRIFTS: Final = """
SELECT e.customer_id, d.type, d.data->>'kind', d.data->'expected', d.data->'observed'
  FROM counterfoil.events d
  JOIN counterfoil.entitlements e ON e.stream_id = d.stream_id
 WHERE d.type IN ('entitlement.drift_detected', 'entitlement.drift_resolved')
 ORDER BY d.position
"""


def _every_edit(books: Books) -> Iterator[str | None]:
    everybody = {entry.customer: entry for entry in owed(books)[0].values()}
    recorded: dict[str, list[tuple[object, ...]]] = defaultdict(list)
    for customer, *drift in books.rows(_DRIFTS):
        recorded[str(customer)].append(tuple(drift))
    for edit in books.diary.edits:
        found = recorded.pop(edit.customer, [])
        wanted = _wanted(edit, everybody.get(edit.customer))
        told = f"customer {edit.customer}: {found}, not {wanted}"
        yield None if found == wanted else told
    for customer, found in recorded.items():
        yield f"customer {customer}: nobody edited anything, but {found}"


def _wanted(edit: Edit, entry: Owed | None) -> list[tuple[object, ...]]:
    """Return the drift that an edit is; nobody is edited twice."""
    if entry is None or not entry.shown:
        return []
    owes = entry.shown[-1]
    expected: dict[str, object] = {
        "missing_remote": {"exists": True},
        "expiry": {"value": owes.expire_at},
        "traffic": {"value": owes.traffic_bytes},
        "device_limit": {"value": owes.devices},
        "squads": list(owes.squads),
        "status": entry.standing,
    }
    shows = list(edit.shows) if isinstance(edit.shows, tuple) else edit.shows
    detected = "entitlement.drift_detected"
    return [
        (detected, edit.kind, expected[edit.kind], shows),
        ("entitlement.drift_resolved", edit.kind, None, None),
    ]


EVERY_EDIT: Final[tuple[str, Ask]] = (
    "edits at the panel itself that are on record as drift, once, and repaired",
    _every_edit,
)
