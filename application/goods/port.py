"""What the handlers need from a provider of goods, and from the process they run in.

A provider never raises into a handler; every answer is classified, and one that does
raise counts as `Unknown("adapter_error")`.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import Protocol
from uuid import UUID

import msgspec

from application.ports import CallGuard
from domain.event import Instant
from domain.goods.events import Product, Sender


class Capabilities(msgspec.Struct, frozen=True, kw_only=True):
    """What an adapter declares of its provider; it decides what follows an unknown."""

    key_lifetime: timedelta | None = None
    """How long it promises one effect for a key (`idempotent_submit`); None: never."""
    can_look_up: bool = False
    """Whether it can be asked what became of a key or a reference."""
    is_lookup_authoritative: bool = False
    """Whether a key that it does not know was not bought so far."""
    expiry: timedelta | None = None
    """The time to live that requests carry and that it enforces; None: it does not."""
    has_balance: bool = False
    """Whether it tells how much of the operator's money is left."""


class Purchase(msgspec.Struct, frozen=True, kw_only=True):
    """One request to buy; repeated under its key, it is the same in every byte."""

    key: str
    order_id: str
    customer_id: str
    product: Product
    quantity: int
    recipient: str
    currency: str
    cost_minor: int
    """What all pieces are expected to cost."""
    expires_at: Instant | None


class Confirmed(msgspec.Struct, frozen=True):
    """Bought, and delivered."""

    reference: str | None = None


class Accepted(msgspec.Struct, frozen=True):
    """Taken; delivered later, under the reference."""

    reference: str | None = None


class Rejected(msgspec.Struct, frozen=True):
    """Definitely not bought, and not worth asking again as it is.

    `failure_class` is `recipient_invalid` or `permanent`.
    """

    failure_class: str
    code: str


class Unavailable(msgspec.Struct, frozen=True):
    """Definitely not bought now; another purchase later may succeed.

    `failure_class` is `retryable`, `provider_balance` or `provider_unavailable`.
    """

    failure_class: str
    code: str
    retry_after_seconds: float | None = None


class Unknown(msgspec.Struct, frozen=True):
    """No clear answer: it may have been bought."""

    code: str


class Unsent(msgspec.Struct, frozen=True):
    """Not one byte has left: the lease or the deadline had no room for the call."""

    cause: str


class Absent(msgspec.Struct, frozen=True):
    """The provider does not know the key."""

    at: Instant | None = None
    """When, by the clock that enforces expiries; None: it does not tell."""


type SubmitAnswer = Confirmed | Accepted | Rejected | Unavailable | Unknown | Unsent
type LookupAnswer = Confirmed | Accepted | Rejected | Absent | Unknown | Unsent


class Balance(msgspec.Struct, frozen=True):
    """How much of the operator's money the provider holds."""

    minor: int
    currency: str


class GoodsProvider(Protocol):
    """One provider, with the credentials of this moment; made anew for each call."""

    @property
    def capabilities(self) -> Capabilities:
        """What it can do."""
        ...

    def submit(self, purchase: Purchase, guard: CallGuard) -> SubmitAnswer:
        """Ask it to buy; sends at most one request that can have an effect.

        `guard` is asked directly before the request is written to the socket.
        """
        ...

    def look_up(
        self, key: str, reference: str | None, guard: CallGuard
    ) -> LookupAnswer:
        """Ask what became of a purchase; buys nothing."""
        ...

    def balance(self, guard: CallGuard) -> Balance | Unknown:
        """Ask how much money is left; buys nothing."""
        ...


class Unconfigured(msgspec.Struct, frozen=True):
    """The provider cannot be used now; `code` is `provider_unconfigured` or the like.

    `detail` says which of: unknown, disabled, no credential, cannot be opened.
    """

    code: str
    detail: str
    asked: GoodsProvider | None = None
    """What sells nothing now, but can be asked what became of a purchase: disabled."""


class Providers(Protocol):
    """Finds providers by their slugs; reads how they are configured each time."""

    def find(self, tenant_id: str, slug: str) -> GoodsProvider | Unconfigured:
        """Return the provider as it is configured at this moment."""
        ...


class Journal(Protocol):
    """The host's own lasting list of submissions, which no restore takes back."""

    def write(self, key: str, purchase: int) -> None:
        """Keep that a submission is committed, on the disk, before it is sent.

        Raises:
            OSError: it could not be kept; then nothing may be sent.
        """
        ...


class Guard(msgspec.Struct, frozen=True, kw_only=True):
    """Why nothing may be bought of a provider now; None: it may."""

    code: str
    """`quarantined`, `spend_limit` …"""
    until: Instant
    """When it is worth looking again."""


class Guards(Protocol):
    """What keeps money from being spent; the database refuses the same again."""

    def barring(self, tenant_id: str, slug: str, cost_minor: int) -> Guard | None:
        """Return why a purchase of that cost must not be submitted now, or None."""
        ...

    def record(
        self, tenant_id: str, slug: str, answer: SubmitAnswer | LookupAnswer
    ) -> None:
        """Take note of an answer for the provider's health; never raises."""
        ...


type WhoSends = Callable[[UUID], Sender]
"""Returns the process that calls it, under the boot id that its claims name: asked in
the process that writes the socket."""
