"""The delivery at hand, as it is read before a run, and what a run tells of it."""

from dataclasses import dataclass, field
from uuid import UUID

import msgspec

from application.context import Context
from application.ports import Streams
from application.unit import Head, changed
from domain.event import Event
from domain.goods import aggregate
from domain.goods.commands import GoodsCommand
from domain.goods.state import GoodsDelivery
from domain.stream import Change, Ref, StreamKind


class GoodsArgs(msgspec.Struct, frozen=True):
    """What jobs of the kinds `goods_delivery` and `goods_reconcile` are about."""

    delivery_id: UUID


@dataclass(slots=True)
class Story:
    """One delivery, and what this run has found out about it so far."""

    ref: Ref
    head: Head
    delivery: GoodsDelivery
    told: list[Event] = field(default_factory=list[Event])

    @property
    def tenant_id(self) -> str:
        """Whose delivery it is."""
        return self.head.tenant_id

    @property
    def order(self) -> UUID:
        """The order that owes it, by its stream's id."""
        return self.delivery.order or self.ref.id

    def tell(self, *commands: GoodsCommand) -> None:
        """Let the delivery go on by `commands`, in turn.

        Raises:
            IllegalTransitionError: a command makes no sense at its stage.
        """
        for command in commands:
            events = aggregate.decide(self.delivery, command)
            self.told.extend(events)
            self.delivery = aggregate.fold(events, self.delivery)

    def changes(self) -> tuple[Change, ...]:
        """Return the change that was told, if anything was."""
        if not self.told:
            return ()
        return (changed(self.ref, self.head, self.told, self.delivery),)


def read_story(streams: Streams, args: GoodsArgs, ctx: Context) -> Story | None:
    """Return the delivery of the job's own tenant, or None when there is none."""
    ref = Ref(StreamKind.DELIVERY, args.delivery_id)
    head = streams.head(ref)
    if head is None or head.tenant_id != ctx.tenant_id:
        return None
    state = head.state
    return Story(ref, head, state) if isinstance(state, GoodsDelivery) else None
