"""Whatever order everybody acts in, an order with goods ends once, and as it should."""

from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from application.orders.completion import GOODS_REFUNDED
from application.policies import (
    FULFILLMENT,
    ORDER_COMPLETION,
    ORDER_FANOUT,
    ORDER_REFUND,
)
from domain.goods.commands import Refund
from domain.goods.state import FINAL
from domain.goods.state import Stage as DeliveryStage
from domain.jobs.outcome import Outcome
from domain.order.aggregate import Stage
from domain.order.events import Fulfilled, GoodsLine, Line, Refunded
from domain.stream import Ref
from tests.application.memory import MemoryContext
from tests.application.orders.purchases import (
    CONFIRM,
    FAIL,
    REFUSE,
    REVIEW,
    SUBMIT,
    move,
)
from tests.application.shop import Shop, access_line, goods_line

KINDS = (ORDER_FANOUT, FULFILLMENT, ORDER_REFUND, ORDER_COMPLETION)
ACTS = (*KINDS, "claim", "settle", "refund", "submit", "end", "give back", "fail")

acts = st.lists(st.tuples(st.sampled_from(ACTS), st.integers(0, 3)), max_size=25)


@dataclass
class Life:
    """One order, and everybody who acts on it."""

    shop: Shop
    order: Ref
    lines: tuple[Line | GoodsLine, ...]
    amount: int
    claims: list[tuple[MemoryContext, Outcome]] = field(
        default_factory=list[tuple[MemoryContext, Outcome]]
    )
    """Jobs whose handlers have decided, and that nobody has settled yet."""

    def act(self, what: str, number: int) -> None:
        """Do something, if it can be done now."""
        match what:
            case "claim":
                waiting = [job for kind in KINDS for job in self.shop.waiting(kind)]
                if waiting:
                    context = self.shop.claim(waiting[number % len(waiting)])
                    self.claims.append((context, self.shop.handle(context)))
            case "settle":
                if self.claims:
                    self.shop.settle(*self.claims.pop(number % len(self.claims)))
            case "refund":
                self.refund(number)
            case "submit" | "end" | "give back" | "fail":
                self.goods(what, number)
            case kind:
                for job in self.shop.waiting(kind)[:1]:
                    self.shop.run(job)

    def refund(self, number: int) -> None:
        """Ask for the one refund of the order: of every line, or of one."""
        if self.shop.log.order_keys("default", "o1").refund is not None:
            return
        numbers = [line.line for line in self.lines]
        told = None if number == 0 else (numbers[number % len(numbers)],)
        self.shop.refund("o1", lines=told)

    def goods(self, what: str, number: int) -> None:
        """Move one delivery on, as whoever buys would."""
        deliveries = self.shop.deliveries(self.order)
        if not deliveries:
            return
        ref = deliveries[number % len(deliveries)]
        stage = self.shop.log.delivery(ref).stage
        if what == "fail" and stage is DeliveryStage.PENDING:
            move(self.shop, ref, FAIL)
        elif what == "submit" and stage is DeliveryStage.PENDING:
            move(self.shop, ref, SUBMIT)
        elif what in ("end", "give back") and stage is DeliveryStage.SUBMITTED:
            move(self.shop, ref, CONFIRM if what == "end" else REFUSE)
        elif what == "fail" and stage is DeliveryStage.SUBMITTED:
            move(self.shop, ref, REVIEW)

    def end(self) -> None:
        """Let everybody finish."""
        while self.claims:
            self.act("settle", 0)
        for _ in range(3):
            for kind in KINDS:
                while self.shop.waiting(kind):
                    self.act(kind, 0)
            for number, ref in enumerate(self.shop.deliveries(self.order)):
                self.finish(ref, number)

    def finish(self, ref: Ref, number: int) -> None:
        """End one delivery: bought or refused, or as whoever looks at it decides."""
        if self.shop.log.delivery(ref).stage is DeliveryStage.PENDING:
            move(self.shop, ref, SUBMIT)
        match self.shop.log.delivery(ref).stage:
            case DeliveryStage.SUBMITTED:
                move(self.shop, ref, REFUSE if number % 2 else CONFIRM)
            case DeliveryStage.NEEDS_REVIEW:
                move(self.shop, ref, CONFIRM)
            case DeliveryStage.FAILED:
                move(self.shop, ref, Refund("operator"))
            case _:
                pass

    def told(self) -> tuple[list[Fulfilled], list[Refunded]]:
        """Return what the order says of its end."""
        events = self.shop.log.events_of(self.order)
        return (
            [event for event in events if isinstance(event, Fulfilled)],
            [event for event in events if isinstance(event, Refunded)],
        )

    def given_back(self) -> int:
        """Return all money that went back, by the shop and by deliveries."""
        _, refunds = self.told()
        by_shop = sum(it.amount_minor for it in refunds if it.reason != GOODS_REFUNDED)
        states = [self.shop.log.delivery(it) for it in self.shop.deliveries(self.order)]
        return by_shop + sum(state.refunded_minor or 0 for state in states)


def begin(prices: list[int], amount: int, discount: int, *, has_access: bool) -> Life:
    sold = [
        goods_line(line=number, price_minor=price)
        for number, price in enumerate(prices, 2)
    ]
    access = [access_line(line=1)] if has_access or not sold else []
    shop = Shop()
    lines: tuple[Line | GoodsLine, ...] = (*access, *sold)
    order = shop.pay(*lines, amount_minor=amount, discount_minor=discount)
    return Life(shop, order, lines, amount)


@given(
    prices=st.lists(st.integers(0, 40), max_size=3),
    amount=st.integers(0, 100),
    discount=st.integers(0, 20),
    has_access=st.booleans(),
    acts=acts,
)
@settings(max_examples=60, deadline=None)
def test_an_order_ends_once_and_as_its_lines_did(
    prices: list[int],
    amount: int,
    discount: int,
    has_access: bool,  # noqa: FBT001 -- drawn
    acts: list[tuple[str, int]],
) -> None:
    life = begin(prices, amount, discount, has_access=has_access)

    for what, number in acts:
        life.act(what, number)
    life.end()

    fulfilled, refunded = life.told()
    assert len(fulfilled) <= 1
    assert len(refunded) <= 1
    assert life.given_back() <= amount
    assert all(
        life.shop.log.delivery(ref).stage in FINAL
        for ref in life.shop.deliveries(life.order)
    )
    assert_it_ended(life, fulfilled, refunded)


def assert_it_ended(
    life: Life, fulfilled: list[Fulfilled], refunded: list[Refunded]
) -> None:
    """Nothing is left undecided, and the end says what became of the lines."""
    stage = life.shop.log.paid(life.order).stage
    states = [life.shop.log.delivery(it) for it in life.shop.deliveries(life.order)]
    is_delivered = any(state.stage is DeliveryStage.DELIVERED for state in states)
    if not refunded:
        assert stage is Stage.FULFILLED
        assert is_delivered or fulfilled[0].operation is not None
        return
    assert stage is Stage.REFUNDED
    if refunded[0].reason == GOODS_REFUNDED:
        assert not fulfilled
        assert not is_delivered
        assert refunded[0].amount_minor == life.given_back()
        return
    # What the shop took back was neither bought nor given back a second time.
    for state in states:
        is_taken = state.line in refunded[0].lines
        assert is_taken == (state.stage is DeliveryStage.CANCELLED)
