"""One event of every tag of goods, as it was first written (see `pinned`)."""

from datetime import UTC, datetime
from uuid import UUID

from domain.event import Actor, Event
from domain.goods import events as goods

AT = datetime(2026, 3, 1, 12, 30, 15, 250_000, tzinfo=UTC)
LATER = datetime(2026, 4, 1, tzinfo=UTC)
ORDER = UUID("0195bd5e-5c4a-7000-8000-000000000001")
BOOT = UUID("0195bd5e-5c4a-7000-8000-000000000006")
SENDER = goods.Sender(
    host="worker-1",
    machine="8f1c7c1e-9d56-4f0a-8d0c-2d5a7b6f0c11:4026531836",
    pid=4711,
    started=86_400_123,
    boot=BOOT,
)

GOODS: tuple[Event, ...] = (
    goods.Owed(
        order=ORDER,
        order_id="A-1042",
        customer_id="C-77",
        line=2,
        provider="stars",
        product=goods.Product(kind="telegram_stars", quantity=50, months=3),
        quantity=2,
        recipient="naïve_anna",
        currency="EUR",
        cost_minor=80,
        price_minor=100,
        paid_minor=190,
    ),
    goods.PurchaseSubmitted(
        decision=1,
        purchase=1,
        key="goods:0195bd5e-5c4a-7000-8000-000000000001:2:1",
        token=2,
        deadline=AT,
        expires_at=LATER,
        repeat_until=LATER,
        sender=SENDER,
    ),
    goods.PurchaseWithdrawn(decision=1, purchase=1, cause="lease_too_short"),
    goods.PurchaseConfirmed(decision=1, reference="T-9"),
    goods.PurchaseAccepted(decision=1, reference="T-9", next_at=LATER),
    goods.PurchaseRefused(
        decision=1, failure_class="retryable", code="http_429", next_at=LATER
    ),
    goods.PurchaseUnknown(
        decision=1,
        code="restored",
        is_sender_gone=False,
        restored_at=LATER,
        quiet_at=LATER,
    ),
    goods.SenderEnded(sender=SENDER, how="answered", purchase=1, quiet_at=LATER),
    goods.Reconciled(
        decision=1,
        found="refused",
        reference="T-9",
        code="sold_out",
        is_conclusive=True,
    ),
    goods.ReviewOpened(decision=1, code="timeout"),
    goods.DecisionProposed(
        by=Actor("operator", "olga"),
        verdict="buy_again",
        evidence="the statement of 1 March shows no charge",
        is_override=True,
    ),
    goods.ReviewDecided(
        verdict="buy_again",
        evidence="the statement of 1 March shows no charge",
        is_override=True,
        proposed_by=Actor("operator", "olga"),
    ),
    goods.Deferred(code="provider_unconfigured", until=LATER),
    goods.Delivered(reference="T-9"),
    goods.Failed(code="gateway_rejected"),
    goods.Refunded(amount_minor=190, currency="EUR", code="gateway_rejected"),
    goods.Cancelled(code="cancelled_by_operator"),
    goods.Retried(),
)
