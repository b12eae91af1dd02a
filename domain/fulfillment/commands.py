"""What can be asked of one fulfilment operation."""

from uuid import UUID

import msgspec

from domain.entitlement.state import Desired, Observed
from domain.event import Instant


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """Ask for one operation on an entitlement."""

    entitlement: UUID
    order: UUID | None
    operation: str
    desired_version: int
    desired: Desired
    effective_at: Instant
    idempotency_key: str


class StartAttempt(msgspec.Struct, frozen=True):
    """Record that the panel is about to be asked."""

    calls: tuple[str, ...]


class FailAttempt(msgspec.Struct, frozen=True, kw_only=True):
    """Record that the panel did not confirm and when it is asked again."""

    code: str
    retry_at: Instant


class Interrupt(msgspec.Struct, frozen=True):
    """Record that the attempt ended without an answer."""

    cause: str


class Park(msgspec.Struct, frozen=True):
    """Record that something outside must change first."""

    cause: str
    is_new: bool = False
    """Whether an episode begins, whatever is on record: a gate was found closed."""


class Succeed(msgspec.Struct, frozen=True):
    """Record what the panel showed when it had confirmed."""

    observed: Observed


class Fail(msgspec.Struct, frozen=True):
    """Give up until a person decides."""

    code: str


class Cancel(msgspec.Struct, frozen=True):
    """End the operation on a person's word."""

    code: str = "operator"


class Cover(msgspec.Struct, frozen=True):
    """End the operation because a later one carries its desired state."""

    covered_by: UUID


class Retry(msgspec.Struct, frozen=True):
    """Revive a failed operation on a person's word."""


type FulfillmentCommand = (
    Request
    | StartAttempt
    | FailAttempt
    | Interrupt
    | Park
    | Succeed
    | Fail
    | Cancel
    | Cover
    | Retry
)
