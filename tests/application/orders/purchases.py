"""What becomes of deliveries, said by whoever buys, without one who does."""

from datetime import timedelta
from uuid import UUID

from application.births import after_delivery
from application.policies import ORDER_COMPLETION
from application.unit import changed
from domain.goods import aggregate as deliveries
from domain.goods.commands import (
    Cancel,
    Confirm,
    Fail,
    GoodsCommand,
    OpenReview,
    Refuse,
    Submit,
)
from domain.goods.events import Sender
from domain.stream import Ref
from tests.application.memory import START
from tests.application.shop import Shop

SENDER = Sender(host="host", machine="m", pid=1, started=1, boot=UUID(int=1))
SUBMIT = Submit(
    at=START,
    token=2,
    deadline=START + timedelta(seconds=90),
    expires_at=None,
    repeat_until=None,
    sender=SENDER,
)
CONFIRM = Confirm(decision=1, reference="r-1")
REFUSE = Refuse(
    decision=1,
    failure_class="permanent",
    code="gateway_rejected",
    next_at=START,
    is_answer=True,
)
REVIEW = OpenReview("timeout")
FAIL = Fail("budget_spent")
CANCEL = Cancel(code="operator", refunds=True)


def move(shop: Shop, delivery: Ref, *commands: GoodsCommand) -> None:
    """Let commands happen to a delivery, and write what follows beside each."""
    for command in commands:
        head, state = shop.log.heads[delivery], shop.log.delivery(delivery)
        events = deliveries.decide(state, command)
        change = changed(delivery, head, events, deliveries.fold(events, state))
        for written in (change, *after_delivery(shop.ids, change, shop.log.now)):
            shop.log.write(written)


def deliver(shop: Shop, delivery: Ref) -> None:
    """Buy a line of goods at the first ask."""
    move(shop, delivery, SUBMIT, CONFIRM)


def give_back(shop: Shop, delivery: Ref) -> None:
    """Let the provider refuse a line for good."""
    move(shop, delivery, SUBMIT, REFUSE)


def complete(shop: Shop) -> list[object]:
    """Run every job that looks whether an order is over; return what each saw."""
    seen: list[object] = []
    for job in shop.waiting(ORDER_COMPLETION):
        outcome = shop.run(job)
        result = getattr(outcome, "result", None) or {}
        seen.append(result.get("order"))
    return seen
