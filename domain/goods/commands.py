"""What can be asked of one delivery of goods."""

from uuid import UUID

import msgspec

from domain.event import Actor, Instant
from domain.goods.events import Product, Sender


class Owe(msgspec.Struct, frozen=True, kw_only=True):
    """Owe one line of an order."""

    order: UUID
    order_id: str
    customer_id: str
    line: int
    provider: str
    product: Product
    quantity: int
    recipient: str
    currency: str
    cost_minor: int
    price_minor: int
    paid_minor: int


class Submit(msgspec.Struct, frozen=True, kw_only=True):
    """Record that the provider is about to be asked: anew, or again under the key."""

    at: Instant
    token: int
    deadline: Instant
    expires_at: Instant | None
    repeat_until: Instant | None
    """Of a new decision; one that is repeated keeps its own."""
    sender: Sender


class Withdraw(msgspec.Struct, frozen=True):
    """Record that the submission was never sent, as only its sender can say."""

    cause: str


class Confirm(msgspec.Struct, frozen=True, kw_only=True):
    """Record that the provider has bought and delivered under `decision`."""

    decision: int
    reference: str | None


class Accept(msgspec.Struct, frozen=True, kw_only=True):
    """Record that the provider has taken the purchase of `decision`."""

    decision: int
    reference: str | None
    next_at: Instant | None
    """When it is asked how far it is."""
    is_answer: bool
    """Whether the latest sender tells it, whose call is over by it."""


class Refuse(msgspec.Struct, frozen=True, kw_only=True):
    """Record that the provider says that it did not buy under `decision`."""

    decision: int
    failure_class: str
    code: str
    next_at: Instant
    """When the next decision is due, if there is to be one."""
    is_answer: bool
    """Whether the latest sender tells it, whose call is over by it."""


class LoseTrack(msgspec.Struct, frozen=True, kw_only=True):
    """Record that nobody knows whether the provider bought."""

    code: str
    is_sender_gone: bool
    """Whether the latest sender tells it, whose call is over by it."""
    at: Instant | None = None
    """When that sender's call was over."""


class Restore(msgspec.Struct, frozen=True):
    """Record that the database is an older one, which may have lost purchases."""

    at: Instant
    """When that was noticed."""


class EndSender(msgspec.Struct, frozen=True, kw_only=True):
    """Record the proof that one sender is dead."""

    sender: Sender
    how: str
    at: Instant
    """When it was proved."""


class Reconcile(msgspec.Struct, frozen=True, kw_only=True):
    """Record what the provider said when asked what became of `decision`."""

    decision: int
    found: str
    reference: str | None
    code: str | None
    is_conclusive: bool
    """Whether nothing can be bought under the key any more if it was not yet.

    Computed before the provider was asked: see `domain.goods.resolution`.
    """
    next_at: Instant
    """When the next decision is due, if the provider had refused this one."""
    failure_class: str | None = None
    """Of what was refused."""


class OpenReview(msgspec.Struct, frozen=True):
    """Give it to a person."""

    code: str


class Decide(msgspec.Struct, frozen=True, kw_only=True):
    """A person says what became of it."""

    verdict: str
    evidence: str
    by: Actor
    is_override: bool
    needs_second: bool
    """Whether this installation wants a second person to agree to buying again."""


class Defer(msgspec.Struct, frozen=True, kw_only=True):
    """Buy nothing for now."""

    code: str
    until: Instant


class Fail(msgspec.Struct, frozen=True):
    """Its job is dead."""

    code: str


class Refund(msgspec.Struct, frozen=True):
    """Give the money of a failed delivery back."""

    code: str


class Cancel(msgspec.Struct, frozen=True, kw_only=True):
    """End it before anything was bought."""

    code: str
    refunds: bool
    """Whether the money goes back by this; not when the shop gave it back already."""


class Retry(msgspec.Struct, frozen=True):
    """Revive a failed delivery on a person's word."""


type GoodsCommand = (
    Owe
    | Submit
    | Withdraw
    | Confirm
    | Accept
    | Refuse
    | LoseTrack
    | Restore
    | EndSender
    | Reconcile
    | OpenReview
    | Decide
    | Defer
    | Fail
    | Refund
    | Cancel
    | Retry
)
