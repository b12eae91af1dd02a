"""What the front door answers, and what it may refuse beside a wrong member."""

from collections.abc import Callable
from uuid import UUID

import msgspec

from application.errors import ApplicationError
from domain.event import JsonObject


class Settled(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One order that is settled, now or before."""

    order_id: str
    stream_id: UUID
    job_id: UUID | None
    """The job that decides what is owed; None for a topup, which owes nothing."""
    replayed: bool
    """True when the same order was settled before: this is the stored answer."""
    position: int
    """A reader at this position of the log sees the order and its job."""


class RefundAsked(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One refund that is asked for, now or before; its job decides what it means."""

    order_id: str
    stream_id: UUID | None
    """The order; None as long as nobody has settled it here."""
    job_id: UUID
    replayed: bool
    """True when the same refund was asked for before: this is the stored answer."""
    position: int
    """A reader at this position of the log sees the refund's job."""


class Enqueued(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One job that will run."""

    job_id: UUID
    duplicate: bool
    """True when an unfinished job had the unique key: this is that job."""
    position: int
    """A reader at this position of the log sees the job."""


class KeyReusedError(ApplicationError):
    """The order's id was settled, or refunded, before, with other content (I5)."""

    code = "idempotency_key_reused"

    def __init__(self, detail: str, path: str = "orderId") -> None:
        """Name the member that holds the key, and which key it is."""
        self.path = path
        self.detail = detail
        super().__init__(f"{self.code}: {detail}")


class KeyBusyError(ApplicationError):
    """Another transaction holds a key of this request and does not end."""

    code = "key_busy"

    def __init__(self, path: str, detail: str, retry_after_seconds: int = 1) -> None:
        """Name the member that holds the key, whose it is, and when to ask again."""
        self.path = path
        self.detail = detail
        self.retry_after_seconds = retry_after_seconds
        super().__init__(f"{self.code}: {detail}")


class OrderBusyError(KeyBusyError):
    """Another transaction holds the order's key and does not end."""

    code = "order_busy"

    def __init__(self) -> None:
        """Say what can be done."""
        super().__init__(
            "orderId",
            "another transaction holds this order's key just now; try it again",
        )


type SettleOne = Callable[[JsonObject], Settled]
"""Settle one order in a transaction of its own, committed when it returns.

Raises:
    InvalidRequestError: a member is wrong; nothing was written.
    KeyReusedError: see there; nothing was written.
    OrderBusyError: see there; nothing was written.
"""

type RefundOne = Callable[[JsonObject], RefundAsked]
"""Ask for one refund in a transaction of its own, committed when it returns.

Raises:
    InvalidRequestError: a member is wrong; nothing was written.
    KeyReusedError: see there; nothing was written.
    OrderBusyError: see there; nothing was written.
"""
