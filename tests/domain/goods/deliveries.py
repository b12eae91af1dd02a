"""Deliveries at any point of their lives, made by commands."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from domain.event import Actor
from domain.goods.aggregate import decide, fold
from domain.goods.commands import (
    Accept,
    Confirm,
    Decide,
    Fail,
    GoodsCommand,
    LoseTrack,
    OpenReview,
    Owe,
    Reconcile,
    Refuse,
    Restore,
    Submit,
)
from domain.goods.events import GoodsEvent, Product, Sender
from domain.goods.state import GoodsDelivery

AT = datetime(2026, 1, 1, tzinfo=UTC)
ORDER = UUID(int=7)
OLGA = Actor("operator", "olga")
IVAN = Actor("operator", "ivan")

OWE = Owe(
    order=ORDER,
    order_id="A-1",
    customer_id="C-1",
    line=2,
    provider="stars",
    product=Product(kind="telegram_stars", quantity=50),
    quantity=2,
    recipient="anna_k",
    currency="EUR",
    cost_minor=80,
    price_minor=100,
    paid_minor=190,
)


def after(minutes: float) -> datetime:
    return AT + timedelta(minutes=minutes)


def sender(pid: int = 1) -> Sender:
    return Sender(
        host="worker-1", machine="m", pid=pid, started=pid * 10, boot=UUID(int=pid)
    )


def submit(
    pid: int = 1,
    *,
    at: datetime = AT,
    expires_at: datetime | None = None,
    repeat_until: datetime | None = None,
) -> Submit:
    return Submit(
        at=at,
        token=2,
        deadline=at + timedelta(minutes=2),
        expires_at=expires_at,
        repeat_until=repeat_until,
        sender=sender(pid),
    )


def refuse(
    failure_class: str = "retryable",
    code: str = "http_429",
    *,
    decision: int = 1,
    is_answer: bool = True,
) -> Refuse:
    return Refuse(
        decision=decision,
        failure_class=failure_class,
        code=code,
        next_at=AT,
        is_answer=is_answer,
    )


def accept(
    reference: str | None = "R-1", *, decision: int = 1, is_answer: bool = True
) -> Accept:
    return Accept(
        decision=decision, reference=reference, next_at=after(1), is_answer=is_answer
    )


def found(what: str, **more: Any) -> Reconcile:  # noqa: ANN401 - members of it
    members: dict[str, Any] = {
        "decision": 1,
        "reference": None,
        "code": None,
        "is_conclusive": False,
        "next_at": AT,
    }
    return Reconcile(found=what, **members | more)


def says(
    verdict: str,
    by: Actor = OLGA,
    *,
    is_override: bool = False,
    needs_second: bool = False,
) -> Decide:
    return Decide(
        verdict=verdict,
        evidence="the statement of 1 January",
        by=by,
        is_override=is_override,
        needs_second=needs_second,
    )


CONFIRM = Confirm(decision=1, reference="R-1")
LOST = LoseTrack(code="lease_lost", is_sender_gone=False)
TIMEOUT = LoseTrack(code="timeout", is_sender_gone=True)
REVIEW = OpenReview("timeout")
RESTORE = Restore(AT)
DEAD = Fail("budget_spent")


def owed(*commands: GoodsCommand) -> GoodsDelivery:
    """Return an owed delivery after `commands`."""
    delivery = GoodsDelivery()
    for command in (OWE, *commands):
        delivery = fold(decide(delivery, command), delivery)
    return delivery


def when(
    delivery: GoodsDelivery, command: GoodsCommand
) -> tuple[tuple[GoodsEvent, ...], GoodsDelivery]:
    events = decide(delivery, command)
    return events, fold(events, delivery)


def told(events: tuple[GoodsEvent, ...]) -> list[str]:
    return [event.tag.removeprefix("goods.") for event in events]
