"""A buyer, as the handler is one: transaction 1, the journal, the provider's book."""

import os
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from uuid import UUID

from msgspec.structs import replace

from application.unit import Group, Locked, Refused, Result, Written, changed
from domain.errors import DomainError
from domain.event import Actor, Event, Instant, Meta
from domain.goods.aggregate import decide, fold
from domain.goods.commands import GoodsCommand, Owe, Submit
from domain.goods.events import Product, Sender
from domain.goods.state import GoodsDelivery, Stage
from domain.order.aggregate import Order
from domain.order.aggregate import evolve as evolve_order
from domain.order.events import Paid
from domain.stream import Change, Ref, State, StreamKind
from infrastructure.guards.journal import FileJournal
from infrastructure.ids import new_id
from infrastructure.postgres.batch_store import BatchStore
from infrastructure.postgres.database import Database

META = Meta(actor=Actor("system", "test"), correlation_id="A-1")
SENDER = Sender(host="here", machine="m", pid=os.getpid(), started=1, boot=UUID(int=1))
PRICE = 100


def owed(
    line: int = 1, *, provider: str = "stars", cost_minor: int = PRICE
) -> tuple[Change, Change]:
    """Return the births of a paid order and of its one delivery."""
    order = paid_order()
    owe = Owe(
        order=order.ref.id,
        order_id=f"A-{order.ref.id}",
        customer_id="C-1",
        line=line,
        provider=provider,
        product=Product(kind="telegram_stars", quantity=50),
        quantity=1,
        recipient="olga_1",
        currency="RUB",
        cost_minor=cost_minor,
        price_minor=150,
        paid_minor=150,
    )
    events = decide(GoodsDelivery(), owe)
    delivery = Ref(StreamKind.DELIVERY, new_id())
    return (
        order,
        _birth(delivery, events, fold(events)),
    )


def paid_order() -> Change:
    """Return the birth of an order that is paid."""
    order = Ref(StreamKind.ORDER, new_id())
    paid = Paid(
        order_id=f"A-{order.id}",
        customer_id="C-1",
        slot=1,
        kind="purchase",
        currency="RUB",
        amount_minor=150,
        discount_minor=0,
        effective_at=None,
        lines=(),
    )
    return _birth(order, (paid,), evolve_order(Order(), paid))


def _birth(ref: Ref, events: tuple[Event, ...], state: State) -> Change:
    return Change(ref=ref, tenant_id="default", expected=0, events=events, state=state)


def submit_at(now: Instant) -> Submit:
    return Submit(
        at=now,
        token=1,
        deadline=now + timedelta(seconds=120),
        expires_at=None,
        repeat_until=None,
        sender=SENDER,
    )


@dataclass
class Buyer:
    """Owes and buys over one pool; `book` is what the provider knows."""

    pool: Database
    journal: FileJournal
    book: list[str] = field(default_factory=list[str])

    def owe(self, n: int = 1, **more: object) -> list[Ref]:
        born = [owed(**more) for _ in range(n)]  # type: ignore[arg-type]
        groups = [
            Group(tuple(each.ref for each in pair), lambda *_, p=pair: p, META)
            for pair in born
        ]
        results = BatchStore(self.pool).commit(groups)
        assert all(isinstance(each, Written) for each in results), results
        return [delivery.ref for _, delivery in born]

    def command(self, delivery: Ref, command: GoodsCommand | None = None) -> Result:
        """Return what became of a command; none: of a submission."""

        def decided(locked: Locked, now: Instant) -> tuple[Change, ...] | Refused:
            head = locked[delivery]
            assert isinstance(head.state, GoodsDelivery)
            try:
                events = decide(head.state, command or submit_at(now))
            except DomainError as error:
                return Refused(f"rule: {error.code}")
            return (changed(delivery, head, events, fold(events, head.state)),)

        (result,) = BatchStore(self.pool).commit([Group((delivery,), decided, META)])
        return result

    def submit_together(self, deliveries: list[Ref]) -> list[Result]:
        """Return what became of submissions of one batch."""

        def decided(
            ref: Ref, locked: Locked, now: Instant
        ) -> tuple[Change, ...] | Refused:
            head = locked[ref]
            assert isinstance(head.state, GoodsDelivery)
            events = decide(head.state, submit_at(now))
            return (changed(ref, head, events, fold(events, head.state)),)

        groups = [Group((each,), partial(decided, each), META) for each in deliveries]
        return BatchStore(self.pool).commit(groups)

    def submit_lawlessly(self, delivery: Ref) -> Result:
        """Return what the database says to a submission that no rule has decided."""

        def decided(locked: Locked, now: Instant) -> tuple[Change, ...] | Refused:
            head = locked[delivery]
            assert isinstance(head.state, GoodsDelivery)
            lawful = replace(
                head.state, stage=Stage.PENDING, restored_at=None, next_at=None
            )
            events = decide(lawful, submit_at(now))
            return (changed(delivery, head, events, fold(events, head.state)),)

        (result,) = BatchStore(self.pool).commit([Group((delivery,), decided, META)])
        return result

    def buy(self, delivery: Ref) -> str:
        """Return `bought`, or the code of who refused it."""
        result = self.command(delivery)
        if isinstance(result, Refused):
            return result.code
        assert isinstance(result, Written), result
        state = result.changes[0].state
        assert isinstance(state, GoodsDelivery)
        assert state.key is not None
        self.journal.write(state.key, state.purchases)
        self.book.append(state.key)
        return "bought"

    def open(self) -> list[Ref]:
        """Return the deliveries that are not over."""
        with self.pool.connection() as connection:
            rows = connection.execute(
                "SELECT stream_id FROM counterfoil.deliveries"
                " WHERE state NOT IN ('delivered', 'refunded', 'cancelled')"
            ).fetchall()
        return [Ref(StreamKind.DELIVERY, UUID(str(row[0]))) for row in rows]

    def twice(self) -> list[str]:
        """Return the deliveries that were bought more than once."""
        lines = [key.rpartition(":")[0] for key in self.book]
        return [line for line in {*lines} if lines.count(line) > 1]
