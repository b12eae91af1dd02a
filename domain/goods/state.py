"""What the rules remember of one delivery; the head's folded columns."""

from datetime import timedelta
from enum import StrEnum
from typing import Final
from uuid import UUID

import msgspec

from domain.event import Actor, Instant
from domain.goods.events import Product, Sender
from domain.stream import State

RESTORED: Final = "restored"
"""Code of what is unknown because the database is an older one than before."""

BUY_AGAIN: Final = "buy_again"
"""Verdict of a person: what was asked before was not bought, so buy."""

MOST_PURCHASES: Final = 6
"""How often a provider is asked to buy for one delivery (requirements 9.1)."""


IN_FLIGHT: Final = timedelta(seconds=30)
"""How long a request may still be on its way when whoever wrote it is over."""


class Stage(StrEnum):
    """Where a delivery is in its life; the stored words."""

    UNBORN = "unborn"
    PENDING = "pending"
    SUBMITTED = "submitted"
    NEEDS_REVIEW = "needs_review"
    DELIVERED = "delivered"
    FAILED = "failed"
    REFUNDED = "refunded"
    CANCELLED = "cancelled"


FINAL: Final = frozenset({Stage.DELIVERED, Stage.REFUNDED, Stage.CANCELLED})
"""Stages that nobody leaves (I6)."""


class Standing(StrEnum):
    """What is known of the latest decision to buy; the stored words."""

    NONE = "none"
    """There is no purchase whose end is open."""
    ASKED = "asked"
    """It is recorded, and perhaps sent; no answer is on record."""
    ACCEPTED = "accepted"
    """The provider has it and delivers later."""
    UNKNOWN = "unknown"
    """Nobody knows whether the provider has it."""


class Proposal(msgspec.Struct, frozen=True, kw_only=True):
    """What one person wants and another one has to agree to."""

    verdict: str
    evidence: str
    is_override: bool
    by: Actor


class Asking(msgspec.Struct, frozen=True, kw_only=True):
    """A submission whose sender may still ask, for all that is known here."""

    purchase: int
    decision: int
    sender: Sender


class GoodsDelivery(State, frozen=True, kw_only=True):
    """One order line of goods, from its birth to its end."""

    stage: Stage = Stage.UNBORN
    order: UUID | None = None
    order_id: str = ""
    customer_id: str = ""
    line: int = 0
    provider: str = ""
    product: Product | None = None
    quantity: int = 0
    recipient: str = ""
    currency: str = ""
    cost_minor: int = 0
    price_minor: int = 0
    paid_minor: int = 0
    purchases: int = 0
    """Submissions that count, of at most `MOST_PURCHASES`."""
    decision: int = 0
    standing: Standing = Standing.NONE
    withdraws_to: Standing = Standing.NONE
    """What the standing was before the latest submission."""
    key: str | None = None
    """The key of the latest decision to buy."""
    token: int | None = None
    """Of the claim that submitted last."""
    senders: tuple[Asking, ...] = ()
    """Who has submitted and may still ask; those of overridden decisions too."""
    deadline: Instant | None = None
    """By when the latest sender has given up, or what it wrote has arrived."""
    expires_at: Instant | None = None
    repeat_until: Instant | None = None
    reference: str | None = None
    failure_class: str | None = None
    code: str | None = None
    """What was last said against it."""
    next_at: Instant | None = None
    """When the next look is due; None: at once, or never."""
    deferred_code: str | None = None
    """Why nothing is bought for now, in this episode."""
    restored_at: Instant | None = None
    """When it was noticed that a restore may have lost later purchases of it."""
    is_doubtful: bool = False
    """Whether a person bought again after a purchase whose end nobody knows."""
    proposal: Proposal | None = None
    refunded_minor: int | None = None

    @property
    def is_restored(self) -> bool:
        """Whether a restore may have lost later purchases of it."""
        return self.restored_at is not None


def latest_asking(delivery: GoodsDelivery) -> Asking | None:
    """Return the latest submission while its sender may still ask."""
    for asking in delivery.senders:
        if asking.purchase == delivery.purchases:
            return asking
    return None


def askings_of(delivery: GoodsDelivery, decision: int) -> tuple[Asking, ...]:
    """Return the submissions of one decision whose senders may still ask."""
    return tuple(each for each in delivery.senders if each.decision == decision)


def total_cost(delivery: GoodsDelivery) -> int:
    """Return what one purchase of all its pieces is expected to cost."""
    return delivery.cost_minor * delivery.quantity


def key_of(order: UUID, line: int, decision: int) -> str:
    """Return the key of one decision to buy, unique in the installation."""
    return f"goods:{order}:{line}:{decision}"
