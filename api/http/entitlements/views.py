"""What is answered about operations that were asked for."""

import msgspec

from api.http.surface import Surface
from api.http.wire.ids import Prefix, told, told_if
from api.http.wire.values import Moment, Position, moment, position
from projections.queries.heads.operation import OperationRecord


class OperationLinks(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What belongs to an operation."""

    self: str
    job: str | None = None


class RequestedView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An operation that was asked for, as it is now."""

    id: str
    entitlement_id: str
    operation: str
    status: str
    """`pending`, `running`, `retrying`, `succeeded`, `failed` or `cancelled`."""
    code: str | None
    """Why it failed, or was cancelled."""
    desired_version: int
    effective_at: Moment
    attempt_count: int
    parked_cause: str | None
    covered_by: str | None
    version: int
    created_at: Moment
    job_id: str | None
    """Carries it out; null: it has succeeded."""
    position: Position
    links: OperationLinks


def requested_view(surface: Surface, record: OperationRecord) -> RequestedView:
    """Return an operation as it is now."""
    id_ = told(Prefix.OPERATION, record.stream_id)
    job_id = told_if(Prefix.JOB, record.job_id)
    return RequestedView(
        id=id_,
        entitlement_id=told(Prefix.ENTITLEMENT, record.entitlement_id),
        operation=record.operation,
        status=record.state,
        code=record.code,
        desired_version=record.desired_version,
        effective_at=moment(record.effective_at),
        attempt_count=record.attempts,
        parked_cause=record.parked_cause,
        covered_by=told_if(Prefix.OPERATION, record.covered_by),
        version=record.version,
        created_at=moment(record.created_at),
        job_id=job_id,
        position=position(record.position),
        links=OperationLinks(
            self=f"{surface}/operations/{id_}",
            job=f"{surface}/jobs/{job_id}" if job_id else None,
        ),
    )
