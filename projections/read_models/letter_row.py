"""The row of a dead letter."""

from uuid import UUID

import msgspec

from domain.event import Instant


class LetterRow(msgspec.Struct, frozen=True, kw_only=True):
    """One job, operation or delivery, and the letter that it is or was last."""

    stream_id: UUID
    tenant_id: str
    stream_kind: str
    """`job`, `operation` or `delivery`."""
    state: str
    """`none` (no letter yet), `open` or `ended`."""
    kind: str
    """The job's; a record's letter has that of the job that serves it."""
    queue: str
    operation: str | None
    """Which operation it is; None of a job."""
    job_id: UUID | None
    """The job that died."""
    order_stream_id: UUID | None
    entitlement_id: UUID | None
    correlation_id: str
    code: str | None
    """Why it is dead."""
    error_code: str | None
    """What its last attempt met, where the code does not say it."""
    attempt: int
    """Attempts spent; of goods, decisions to buy."""
    died_at: Instant | None
    ended_at: Instant | None
    ended_how: str | None
    """`retried`, `cancelled`, `decided`, `delivered`, `refunded` or `dismissed`."""
    ended_by_type: str | None
    ended_by: str | None
    """The id of who ended it."""
    created_at: Instant
    updated_at: Instant
    acknowledged_at: Instant | None
    """When somebody said that he sees to the letter, the last time."""
    acknowledged_by: str | None
