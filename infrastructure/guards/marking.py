"""Marks open deliveries whose later purchases may be missing in this database.

Page by page, each delivery in a group of its own that decides from its locked head, so
any number of processes may do it at once, and whoever dies on the way has marked what
it has marked.  The quarantine is committed before, so nothing is submitted meanwhile;
what is born later of an order that was paid before is marked later, and the database
refuses to submit it until then.

Its job asks the provider, or gives it to a person, when it runs.  Where it runs only
much later, as an order for next year does, a person is asked at once; bought again by
that person, it is bought when it was to be.
"""

from functools import partial
from typing import Final
from uuid import UUID

from application.unit import Group, Locked, Refused, UnitOfWork, Written, changed
from domain.errors import DomainError
from domain.event import Actor, Instant, Meta
from domain.goods.aggregate import decide, fold
from domain.goods.commands import OpenReview, Restore
from domain.goods.resolution import BACKOFF_CAP
from domain.goods.state import RESTORED, GoodsDelivery, Stage
from domain.stream import Change, Ref, StreamKind
from infrastructure.postgres.batch_store import Connections
from infrastructure.postgres.heads.table import text, truth, uuid
from infrastructure.telemetry import emit

PAGE: Final = 100
_FIRST: Final = UUID(int=0)
_MOVED_ON: Final = Refused("moved_on")

# Nothing is read while there is no doubt, and what is open is found by its own index.
_UNMARKED: Final = """
SELECT d.stream_id, d.correlation_id,
       -- The job that buys it, by its unique key; at a closed gate it is due with it.
       EXISTS (SELECT
                 FROM counterfoil.jobs j
                WHERE j.tenant_id = d.tenant_id
                  AND j.unique_key = 'goods_delivery:' || d.stream_id
                  AND j.gate IS NULL
                  AND j.run_at > counterfoil.now() + %(soon)s)
  FROM counterfoil.restore_guard g
  JOIN counterfoil.deliveries d
    ON d.state NOT IN ('delivered', 'refunded', 'cancelled')
   AND d.restored_at IS NULL
   AND d.stream_id > %(after)s
   AND counterfoil.is_doubtful(d.stream_id, d.order_stream_id, g)
 WHERE g.doubtful_before IS NOT NULL
 ORDER BY d.stream_id
 LIMIT %(page)s
"""


class Marker:
    """Marks for one process."""

    def __init__(
        self, connections: Connections, units: UnitOfWork, actor: Actor
    ) -> None:
        """Mark in the name of `actor`."""
        self._connections = connections
        self._units = units
        self._actor = actor

    def round(self) -> int:
        """Return how many deliveries were marked; what could not be is tried again.

        Raises:
            DatabaseUnavailableError: the database went away on the way.
        """
        done = 0
        after = _FIRST
        while page := self._page(after):
            after = page[-1][0]
            results = self._units.commit([self._group(*each) for each in page])
            done += sum(
                isinstance(each, Written) and bool(each.changes) for each in results
            )
            self._tell(page, [isinstance(each, Written) for each in results])
        if done:
            emit("deliveries marked as restored", deliveries=done)
        return done

    def _page(self, after: UUID) -> list[tuple[UUID, str, bool]]:
        asked = {"after": after, "page": PAGE, "soon": BACKOFF_CAP}
        with self._connections.connection() as connection:
            rows = connection.execute(_UNMARKED, asked).fetchall()
        return [(uuid(row[0]), text(row[1]), truth(row[2])) for row in rows]

    def _tell(self, page: list[tuple[UUID, str, bool]], written: list[bool]) -> None:
        for (delivery, *_), is_written in zip(page, written, strict=True):
            if not is_written:
                emit("delivery not marked as restored", delivery=str(delivery))

    def _group(self, delivery: UUID, correlation_id: str, is_far: bool) -> Group:  # noqa: FBT001 - a row
        ref = Ref(StreamKind.DELIVERY, delivery)
        meta = Meta(actor=self._actor, correlation_id=correlation_id)
        decided = partial(_marked, ref, is_far=is_far)
        return Group((ref,), decided, meta)


def _marked(
    ref: Ref, locked: Locked, now: Instant, *, is_far: bool
) -> tuple[Change, ...] | Refused:
    head = locked.get(ref)
    if head is None or not isinstance(head.state, GoodsDelivery):
        return _MOVED_ON
    try:
        events = decide(head.state, Restore(at=now))
    except DomainError:
        return _MOVED_ON  # it has ended meanwhile
    if not events:
        return ()
    state = fold(events, head.state)
    is_waiting_long = is_far and head.state.stage is Stage.PENDING
    if is_waiting_long or head.state.stage is Stage.FAILED:
        # Its job is dead, or runs when nobody waits for it any more.
        opened = decide(state, OpenReview(RESTORED))
        events, state = (*events, *opened), fold(opened, state)
    return (changed(ref, head, events, state),)
