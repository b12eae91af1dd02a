"""Record that a sender is dead, on every delivery that waits to know it.

Any worker on the sender's machine can prove it; who sees it first writes it, and for
all others it is so already.  What a process had written to its socket may arrive after
its end, so nothing is said before the moment at which it would have given up.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import msgspec

from application.unit import Group, Locked, Refused, UnitOfWork, Written, changed
from domain.event import Actor, Event, Instant, Meta
from domain.goods import aggregate
from domain.goods.commands import EndSender
from domain.goods.events import Sender
from domain.goods.state import FINAL, Asking, GoodsDelivery
from domain.stream import Change, Ref, StreamKind
from infrastructure.postgres.batch_store import Connections
from infrastructure.postgres.heads.table import text, uuid
from infrastructure.processor.senders.ended import PROCESS_GONE, has_ended
from infrastructure.processor.senders.identity import UNKNOWN, this_machine
from infrastructure.telemetry import emit

PAGE: Final = 100
_FIRST: Final = UUID(int=0)

# The condition on `senders` is the one of the index `deliveries_at_large`.
_AT_LARGE: Final = """
SELECT stream_id, correlation_id, senders::text, state
  FROM counterfoil.deliveries
 WHERE senders <> '[]'
   AND deadline < counterfoil.now()
   AND stream_id > %(after)s
   AND EXISTS (SELECT
                 FROM jsonb_array_elements(senders) AS each
                WHERE each->'sender'->>'machine' = %(machine)s)
 ORDER BY stream_id
 LIMIT %(page)s
"""

_askings: Final = msgspec.json.Decoder(tuple[Asking, ...])


class Undertaker:
    """Proves ends for one process; `round` is called every few seconds."""

    def __init__(
        self, connections: Connections, units: UnitOfWork, actor: Actor
    ) -> None:
        """Write in the name of `actor`."""
        self._connections = connections
        self._units = units
        self._actor = actor

    def round(self) -> int:
        """Return of how many deliveries a sender was proved to have ended.

        Raises:
            DatabaseUnavailableError: the database went away on the way.
        """
        machine = this_machine()
        if machine == UNKNOWN:
            return 0
        proved, after = 0, _FIRST
        while page := self._page(machine, after):
            after = uuid(page[-1][0])
            groups = [group for row in page for group in self._groups(row)]
            for result in self._units.commit(groups) if groups else ():
                proved += isinstance(result, Written) and result.position > 0
            if len(page) < PAGE:
                break
        if proved:
            emit("senders ended", deliveries=proved)
        return proved

    def _page(self, machine: str, after: UUID) -> Sequence[tuple[object, ...]]:
        asked = {"machine": machine, "after": after, "page": PAGE}
        with self._connections.connection() as connection:
            return connection.execute(_AT_LARGE, asked).fetchall()

    def _groups(self, row: tuple[object, ...]) -> Sequence[Group]:
        if text(row[3]) in FINAL:
            return ()  # nobody waits for it any more
        senders = {asking.sender for asking in _askings.decode(text(row[2]))}
        dead = tuple(sender for sender in senders if has_ended(sender))
        if not dead:
            return ()
        ref = Ref(StreamKind.DELIVERY, uuid(row[0]))
        meta = Meta(actor=self._actor, correlation_id=text(row[1]))
        return (Group(refs=(ref,), decide=_Ended(ref, dead), meta=meta),)


@dataclass(frozen=True, slots=True)
class _Ended:
    """Decides about one delivery once it is locked; pure."""

    ref: Ref
    dead: tuple[Sender, ...]

    def __call__(self, locked: Locked, now: Instant) -> tuple[Change, ...] | Refused:
        """Return what the proofs change of it."""
        head = locked.get(self.ref)
        if head is None or not isinstance(head.state, GoodsDelivery):
            return Refused("gone")
        delivery = head.state
        if delivery.deadline is not None and delivery.deadline >= now:
            return Refused("not_due")  # somebody has submitted anew
        events: list[Event] = []
        for sender in self.dead:
            told = aggregate.decide(
                delivery, EndSender(sender=sender, how=PROCESS_GONE, at=now)
            )
            events += told
            delivery = aggregate.fold(told, delivery)
        if not events:
            return ()
        return (changed(self.ref, head, events, delivery),)
