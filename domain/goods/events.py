"""Facts about one delivery of goods (a storage contract, see domain.event).

`decision` numbers the decisions to buy, from 1: it grows only after a definite end of
the one before, or by a person's "buy again".  One decision has one key, under which
the provider may be asked more than once where it promises one effect per key;
`purchase` numbers those submissions, over all decisions, and is what the budget of
six counts.
"""

from typing import ClassVar
from uuid import UUID

import msgspec

from domain.event import Actor, Event, Instant


class Product(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one piece is; which products exist is the provider's business."""

    kind: str
    """`telegram_stars`, `telegram_premium`, or whatever else a provider sells."""
    quantity: int | None = None
    """How many units one piece holds, of what is counted (stars)."""
    months: int | None = None
    """How long one piece lasts, of what is measured in time (premium)."""


class Sender(msgspec.Struct, frozen=True, kw_only=True):
    """The process that asks a provider, so that its end can be proved later."""

    host: str
    machine: str
    """The booted kernel and the namespace of its process ids, which `pid` is of."""
    pid: int
    started: int
    """When the process was started, in ticks of that kernel: pids are used again."""
    boot: UUID
    """The worker's boot id, as its claims name it."""


class Owed(Event, frozen=True, kw_only=True):
    """An order's line of goods is owed to a recipient."""

    tag: ClassVar[str] = "goods.owed"
    order: UUID
    order_id: str
    customer_id: str
    line: int
    provider: str
    product: Product
    quantity: int
    """How many pieces; all of them are bought in one purchase."""
    recipient: str
    currency: str
    cost_minor: int
    """What one piece is expected to cost."""
    price_minor: int
    """What one piece was sold for, before the order's discount."""
    paid_minor: int
    """What the customer paid for the whole line, after the order's discount."""


class PurchaseSubmitted(Event, frozen=True, kw_only=True):
    """Committed before the provider is asked."""

    tag: ClassVar[str] = "goods.purchase_submitted"
    decision: int
    purchase: int
    key: str
    token: int
    """Fencing token of the claim under which it is asked."""
    deadline: Instant
    """When the sender gives up waiting for the answer."""
    expires_at: Instant | None
    """From when on the provider refuses to begin it, if it enforces an instant."""
    repeat_until: Instant | None
    """Until when the provider promises one effect for this key, if it does."""
    sender: Sender


class PurchaseWithdrawn(Event, frozen=True, kw_only=True):
    """Its sender says itself that it never asked; the submission is given back."""

    tag: ClassVar[str] = "goods.purchase_withdrawn"
    decision: int
    purchase: int
    cause: str


class PurchaseConfirmed(Event, frozen=True, kw_only=True):
    """The provider says that it has bought and delivered."""

    tag: ClassVar[str] = "goods.purchase_confirmed"
    decision: int
    reference: str | None


class PurchaseAccepted(Event, frozen=True, kw_only=True):
    """The provider has taken the purchase and delivers later."""

    tag: ClassVar[str] = "goods.purchase_accepted"
    decision: int
    reference: str | None
    next_at: Instant | None
    """When the provider is asked how far it is."""


class PurchaseRefused(Event, frozen=True, kw_only=True):
    """The provider definitely did not buy."""

    tag: ClassVar[str] = "goods.purchase_refused"
    decision: int
    failure_class: str
    code: str
    next_at: Instant | None
    """When the next decision to buy is due; None: there is none."""


class PurchaseUnknown(Event, frozen=True, kw_only=True):
    """Nobody here knows whether the provider bought."""

    tag: ClassVar[str] = "goods.purchase_unknown"
    decision: int
    code: str
    is_sender_gone: bool
    """Whether the latest sender has said itself that its call is over."""
    restored_at: Instant | None
    """When it was noticed that a restore may have lost later purchases."""
    quiet_at: Instant | None
    """By when whatever that sender has written must have arrived."""


class SenderEnded(Event, frozen=True, kw_only=True):
    """Who may still have been about to ask does not any more."""

    tag: ClassVar[str] = "goods.sender_ended"
    sender: Sender
    how: str
    purchase: int | None
    """The submission whose call is over; None: the process is dead, all of them are."""
    quiet_at: Instant | None
    """By when whatever it has written must have arrived."""


class Reconciled(Event, frozen=True, kw_only=True):
    """What the provider said when it was asked what became of a purchase."""

    tag: ClassVar[str] = "goods.reconciled"
    decision: int
    found: str
    """`delivered`, `accepted`, `refused`, `absent` or `unclear`."""
    reference: str | None
    code: str | None
    is_conclusive: bool
    """Whether it proves that nothing was and will be bought under the key."""


class ReviewOpened(Event, frozen=True, kw_only=True):
    """What became of it waits for a person."""

    tag: ClassVar[str] = "goods.review_opened"
    decision: int
    code: str


class DecisionProposed(Event, frozen=True, kw_only=True):
    """One person wants to buy again; another one has to agree."""

    tag: ClassVar[str] = "goods.decision_proposed"
    by: Actor
    verdict: str
    evidence: str
    is_override: bool


class ReviewDecided(Event, frozen=True, kw_only=True):
    """A person said what became of it; who and why are in the meta data."""

    tag: ClassVar[str] = "goods.review_decided"
    verdict: str
    """`delivered`, `not_purchased` or `buy_again`."""
    evidence: str
    is_override: bool
    """Whether an owner decided although the sender is not known to be dead."""
    proposed_by: Actor | None
    """Who proposed what a second person has agreed to."""


class Deferred(Event, frozen=True, kw_only=True):
    """Nothing was bought for now; recorded once per episode of one code."""

    tag: ClassVar[str] = "goods.deferred"
    code: str
    until: Instant


class Delivered(Event, frozen=True, kw_only=True):
    """The recipient has it; final."""

    tag: ClassVar[str] = "goods.delivered"
    reference: str | None


class Failed(Event, frozen=True, kw_only=True):
    """Nothing was bought: the money goes back, or a person decides."""

    tag: ClassVar[str] = "goods.failed"
    code: str


class Refunded(Event, frozen=True, kw_only=True):
    """The shop owes the customer the money of the line; final."""

    tag: ClassVar[str] = "goods.refunded"
    amount_minor: int
    currency: str
    code: str


class Cancelled(Event, frozen=True, kw_only=True):
    """Not wanted any more before anything was bought."""

    tag: ClassVar[str] = "goods.cancelled"
    code: str


class Retried(Event, frozen=True, kw_only=True):
    """An operator revived a failed delivery."""

    tag: ClassVar[str] = "goods.retried"


type GoodsEvent = (
    Owed
    | PurchaseSubmitted
    | PurchaseWithdrawn
    | PurchaseConfirmed
    | PurchaseAccepted
    | PurchaseRefused
    | PurchaseUnknown
    | SenderEnded
    | Reconciled
    | ReviewOpened
    | DecisionProposed
    | ReviewDecided
    | Deferred
    | Delivered
    | Failed
    | Refunded
    | Cancelled
    | Retried
)
