"""The front door in a transaction of its own, and who stands before it."""

from typing import Final, Protocol

import msgspec

from application.front_door import Enqueued, RefundAsked, Settled
from application.unit import Once
from domain.event import JsonObject, Meta

ORDER: Final = "order"
JOB: Final = "job"
BEFORE: Final = "before"
"""What an answer tells of: what was made, or what another request had made before."""


class Asking(msgspec.Struct, frozen=True, kw_only=True):
    """Who asks, as the events of what is born will name them."""

    meta: Meta
    """Its correlation is that of the request, not this one's."""
    once: Once | None = None
    """The key under which it is asked for."""


class FrontDoor(Protocol):
    """Carries one request out and commits it, or writes nothing.

    Each raises

        InvalidRequestError: a member is missing, unknown or wrong.
        KeyReusedError: the order's id stands for other content.
        KeyBusyError: another transaction holds a key and does not end.
        AnsweredBeforeError, IdempotencyInProgressError, IdempotencyKeyReusedError: see
            `commit_once`.
        DatabaseUnavailableError: nothing is known to be done.
    """

    def settle_order(self, request: JsonObject, asking: Asking) -> Settled:
        """Return the settled order; the same one again returns the stored one."""
        ...

    def refund_order(self, request: JsonObject, asking: Asking) -> RefundAsked:
        """Return the refund that is asked for; the same one again the stored one."""
        ...

    def enqueue(self, request: JsonObject, asking: Asking) -> Enqueued:
        """Return the new job, or the unfinished one that has the unique key.

        Raises:
            QuotaExceededError: as many jobs are pending as may be.
        """
        ...
