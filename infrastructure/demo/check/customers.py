"""Customers: the panel shows what each is owed, and never went back on the way."""

from collections.abc import Iterator
from typing import Any, Final

from infrastructure.demo.check.books import Ask, Books, attempt_of
from infrastructure.demo.check.owed import Owed, Shown, owed

_WHOLE: Final = frozenset({("POST", "/api/users"), ("PATCH", "/api/users")})
"""Requests of the product that bring everything that is owed."""


def _every_customer(books: Books) -> Iterator[str | None]:
    everybody, objections = owed(books)
    yield from objections
    if set(books.users) != set(everybody):
        yield f"{len(everybody)} customers have {len(books.users)} panel users"
    decided = sum(entry.orders for entry in everybody.values())
    owing = len(books.diary.sales) - _refunded_before(books)
    if decided != owing:
        yield f"{decided} of {owing} orders have changed what is owed"
    for name, entry in everybody.items():
        if entry.by_people == 0:
            yield _customer(books, name, entry)


_NEVER_OWED: Final = """
SELECT count(*)
  FROM counterfoil.orders o
 WHERE o.state = 'refunded' AND NOT EXISTS (
       SELECT FROM counterfoil.operations own
        WHERE own.order_stream_id = o.stream_id AND own.operation = 'create')
"""


def _refunded_before(books: Books) -> int:
    """Return how many orders were refunded before anything was decided of them."""
    return int(str(books.rows(_NEVER_OWED)[0][0]))


def _every_changed_customer(books: Books) -> Iterator[str | None]:
    everybody, _ = owed(books)
    for name, entry in everybody.items():
        if entry.by_people > 0:
            yield _customer(books, name, entry)


def _customer(books: Books, name: str, entry: Owed) -> str | None:
    if entry.is_dead:
        return None  # a dead letter: told by the questions about orders and commands
    found = books.users.get(name, [])
    if len(found) != 1 or not entry.shown:
        return f"customer {entry.customer}: {len(found)} panel users"
    user = found[0]
    status = "ACTIVE" if entry.standing == "active" else "DISABLED"
    wanted = (status, entry.shown[-1], 0)
    shows = Shown(
        user.expire_at,
        user.traffic_limit_bytes,
        user.hwid_device_limit,
        tuple(sorted(user.squads)),
    )
    shown = (user.status, shows, books.used.get(name))
    if shown == wanted:
        return None
    return f"customer {entry.customer}: {shown}, not {wanted}"


def _no_write_goes_back(books: Books) -> Iterator[str | None]:
    everybody, _ = owed(books)
    reached = dict.fromkeys(everybody, 0)
    for request in books.requests:
        after = (request.effect or {}).get("after")
        name = request.username or ""
        whole = (request.method, request.path) in _WHOLE and attempt_of(request)
        if not whole or after is None or name not in everybody:
            continue
        # The earliest decision, from the last one seen on, that this could be.
        shown, since = _shown(after), reached[name]
        later = everybody[name].shown[since:]
        if shown in later:
            reached[name] = since + later.index(shown)
            yield None
        else:
            told = f"request {request.seq} brought customer {everybody[name].customer}"
            yield f"{told} to {shown}, which is older than what it found or nobody's"


def _shown(told: dict[str, Any]) -> Shown:
    return Shown(
        told["expireAt"],
        told["trafficLimitBytes"],
        told["hwidDeviceLimit"],
        tuple(sorted(told["activeInternalSquads"])),
    )


QUESTIONS: Final[tuple[tuple[str, Ask], ...]] = (
    ("customers: one panel user, status, expiry to the ms, limits", _every_customer),
    ("customers whom operators changed: the same, limits, squads and pauses as asked",
     _every_changed_customer),
    ("writes that never take an older state back to the panel", _no_write_goes_back),
)  # fmt: skip
