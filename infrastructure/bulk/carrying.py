"""One item, carried out once: what was done and its row are one commit.

The group locks the job of the claim and the operation beside the heads of the thing,
so a superseded holder, a paused or cancelled operation, and an item that was begun
already all refuse it under the locks.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from application.bulk.port import (
    BEGUN,
    LEASE_LOST,
    NOT_RUNNING,
    Claim,
    Item,
    ItemStoppedError,
    NoRoomYetError,
)
from application.bulk.progress import BulkHead
from application.bulk.slice import bulk_of, holds
from application.operators.room import NO_ROOM
from application.unit import Decide, Group, Locked, Refused, Result, Written
from domain.bulk.aggregate import Stage
from domain.event import Instant
from domain.operators.events import ActionRefused
from domain.stream import Change
from domain.text import storable
from infrastructure.postgres.batch_store import BatchStore, Connections
from infrastructure.postgres.database import Connection, transaction
from infrastructure.postgres.groups.with_rows import GroupWithRows

DONE: Final = "done"

_LONGEST_DETAIL: Final = 300

PATIENCE_SECONDS: Final = 600
"""How long an item without room waits, before it is refused."""

# What could not be begun in time is caught up with, but no more than a tenth of
# a second of it: a pause leaves nothing to be made up for.
_END: Final = """
WITH ended AS (
    UPDATE counterfoil.bulk_items
       SET result = %(result)s,
           detail = %(detail)s,
           position = %(position)s,
           done_at = counterfoil.now()
     WHERE bulk_id = %(bulk)s
       AND n = %(n)s
       AND result IS NULL
    RETURNING 1
)
UPDATE counterfoil.bulk_operations b
   SET n_done = b.n_done + %(done)s,
       n_refused = b.n_refused + 1 - %(done)s,
       no_room_since = CASE WHEN %(done)s = 0 THEN b.no_room_since END,
       next_item_at = greatest(coalesce(b.next_item_at, counterfoil.now()),
                               counterfoil.now() - interval '100 milliseconds')
                      + make_interval(secs => 1 / b.items_per_second)
 WHERE b.stream_id = %(bulk)s
   AND EXISTS (SELECT FROM ended)
RETURNING extract(epoch FROM b.next_item_at - counterfoil.now())::float8
"""

_WITHOUT_ROOM: Final = """
UPDATE counterfoil.bulk_operations b
   SET no_room_since = coalesce(b.no_room_since, counterfoil.now())
 WHERE b.stream_id = %(bulk)s
   AND b.state = 'running'
RETURNING b.no_room_since < counterfoil.now() - make_interval(secs => %(patience)s)
"""


class OneItem:
    """See `ItemUnit`."""

    def __init__(
        self, connections: Connections, units: BatchStore, claim: Claim, item: Item
    ) -> None:
        """Carry out `item` for `claim`."""
        self.detail: str | None = None
        self._connections = connections
        self._units = units
        self._claim = claim
        self._item = item
        self._row = _Row(claim, item)
        self._is_written = False

    @property
    def is_written(self) -> bool:
        """See `ItemUnit.is_written`."""
        return self._is_written

    @property
    def wait_seconds(self) -> float:
        """See `ItemUnit.wait_seconds`."""
        return self._row.wait_seconds

    def commit(self, groups: Sequence[Group]) -> list[Result]:
        """Return the result of the one group; see `UnitOfWork.commit`.

        Raises:
            ItemStoppedError: the item may not be begun; nothing was written.
            NoRoomYetError: it is to be tried again.
        """
        (group,) = groups
        self._row.detail = self.detail
        guarded = replace(
            group,
            refs=(*group.refs, self._claim.job, self._claim.bulk),
            decide=partial(_guarded, self._claim, self._item, group.decide),
        )
        (result,) = self._units.commit([GroupWithRows.of(guarded, self._row)])
        if isinstance(result, Refused) and result in _STOPPING:
            raise ItemStoppedError(result)
        if isinstance(result, Refused) and result in NO_ROOM and self._may_wait():
            raise NoRoomYetError
        self._is_written |= isinstance(result, Written)
        return [result]

    def _may_wait(self) -> bool:
        """Whether the item waits for room, rather than being refused for it."""
        told = {"bulk": self._claim.bulk.id, "patience": PATIENCE_SECONDS}
        with (
            self._connections.connection() as connection,
            transaction(connection, keyed=True),
        ):
            row = connection.execute(_WITHOUT_ROOM, told).fetchone()
        return row is None or not row[0]


_STOPPING: Final = (LEASE_LOST, NOT_RUNNING, BEGUN)


def _guarded(
    claim: Claim, item: Item, decide: Decide, locked: Locked, now: Instant
) -> tuple[Change, ...] | Refused:
    if not holds(claim, locked):
        return LEASE_LOST
    head = locked.get(claim.bulk)
    if not isinstance(head, BulkHead) or bulk_of(head).stage is not Stage.RUNNING:
        return NOT_RUNNING
    if head.tally.done + head.tally.refused != item.n - 1:
        return BEGUN
    return decide(locked, now)


@dataclass(slots=True)
class _Row:
    """What became of the item, written with the events that did it."""

    claim: Claim
    item: Item
    detail: str | None = None
    wait_seconds: float = 0.0

    def before(self, connection: Connection) -> None:
        """See `Rows.before`; what became of it is not known yet."""

    def after(
        self, connection: Connection, changes: tuple[Change, ...], position: int
    ) -> None:
        events = (event for change in changes for event in change.events)
        codes = [it.code for it in events if isinstance(it, ActionRefused)]
        detail = storable(self.detail or "", _LONGEST_DETAIL) or None
        row = connection.execute(
            _END,
            {
                "bulk": self.claim.bulk.id,
                "n": self.item.n,
                "result": codes[0] if codes else DONE,
                "detail": detail if codes else None,
                "position": position,
                "done": 0 if codes else 1,
            },
        ).fetchone()
        if row is None:
            raise ItemStoppedError(BEGUN)
        self.wait_seconds = max(float(str(row[0])), 0.0)
