"""Facts about one fulfilment operation (a storage contract, see domain.event).

`attempt` numbers the operation's own attempts and only ever rises, also over an
operator's retry: every request to the panel carries `<operation>.<attempt>.<n>`,
so no two attempts can be taken for one another in the panel's book.
"""

from typing import ClassVar
from uuid import UUID

from domain.entitlement.state import Desired, Observed
from domain.event import Event, Instant


class Requested(Event, frozen=True, kw_only=True):
    """An entitlement's desired state is to be carried to the panel."""

    tag: ClassVar[str] = "fulfillment.requested"
    entitlement: UUID
    order: UUID | None
    """The order that is fulfilled when this succeeds."""
    operation: str
    desired_version: int
    desired: Desired
    effective_at: Instant
    idempotency_key: str


class AttemptStarted(Event, frozen=True, kw_only=True):
    """Committed before the panel is asked; `calls` are names, never bodies."""

    tag: ClassVar[str] = "fulfillment.attempt_started"
    attempt: int
    calls: tuple[str, ...]


class AttemptFailed(Event, frozen=True, kw_only=True):
    """The panel did not confirm; the next attempt starts at `retry_at`."""

    tag: ClassVar[str] = "fulfillment.attempt_failed"
    attempt: int
    code: str
    retry_at: Instant


class Interrupted(Event, frozen=True, kw_only=True):
    """The attempt ended without an answer: shutdown, or its lease was lost."""

    tag: ClassVar[str] = "fulfillment.interrupted"
    attempt: int
    cause: str


class Parked(Event, frozen=True, kw_only=True):
    """Something outside must change first; recorded once per episode."""

    tag: ClassVar[str] = "fulfillment.parked"
    cause: str


class Succeeded(Event, frozen=True, kw_only=True):
    """The panel shows the desired state; final."""

    tag: ClassVar[str] = "fulfillment.succeeded"
    attempt: int
    observed: Observed


class Failed(Event, frozen=True, kw_only=True):
    """Nothing runs the operation again without a person."""

    tag: ClassVar[str] = "fulfillment.failed"
    attempt: int
    code: str


class Cancelled(Event, frozen=True, kw_only=True):
    """Not carried out: cancelled by a person, or covered by a later operation."""

    tag: ClassVar[str] = "fulfillment.cancelled"
    code: str
    covered_by: UUID | None


class Retried(Event, frozen=True, kw_only=True):
    """An operator revived a failed operation."""

    tag: ClassVar[str] = "fulfillment.retried"


type FulfillmentEvent = (
    Requested
    | AttemptStarted
    | AttemptFailed
    | Interrupted
    | Parked
    | Succeeded
    | Failed
    | Cancelled
    | Retried
)
