"""How jobs are shown: never their arguments."""

from datetime import datetime
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from api.http.surface import Surface
from api.http.wire.ids import Prefix, told, told_if
from api.http.wire.values import Moment, moment, moment_if
from projections.queries.grammar.job_words import HasState, river, shop
from projections.queries.records.job import JobRecord
from projections.queries.records.tries import Try
from projections.read_models.jobs import JobRow


class ServesView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Which record a job serves: what its arguments are about, in short."""

    operation_id: str | None
    delivery_id: str | None
    order_id: str | None
    """The shop's own, of a refund."""


class JobView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One job in a list."""

    id: str
    kind: str
    queue: str
    priority: int
    state: str
    parked_cause: str | UnsetType = UNSET
    """Why it is parked; of operators' surfaces."""
    attempt: int
    max_attempts: int | None
    """Null: what its kind allows."""
    created_at: Moment
    updated_at: Moment
    scheduled_at: Moment | None
    attempted_at: Moment | None
    finalized_at: Moment | None
    code: str | None
    """Why it is dead."""
    error_code: str | None
    """What its last failed attempt met."""
    cancel_requested: bool
    correlation_id: str
    serves: ServesView


class LeaseView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Who runs a job now, and until when it is theirs."""

    host: str | None
    pid: int | None
    claimed_at: Moment | None
    until: Moment | None


class AttemptView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One attempt of a job."""

    attempt: int
    started_at: Moment
    ended_at: Moment | None
    result: str | None
    """`succeeded`, `failed`, `snoozed`, `parked`, `released`, `lease_lost`, `discarded`
    or `cancelled`; null: it runs."""
    code: str | None
    error: str | None
    """What was said, without secrets."""
    retry_at: Moment | None
    worker: str | None


class LinksView(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What belongs to a job."""

    self: str
    report: str
    events: str | None = None
    cancel: str
    retry: str
    operation: str | None = None
    delivery: str | None = None


class JobDetailView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One job, and what it went through."""

    id: str
    kind: str
    queue: str
    priority: int
    state: str
    parked_cause: str | UnsetType = UNSET
    attempt: int
    max_attempts: int | None
    created_at: Moment
    scheduled_at: Moment | None
    """Null: nobody knows when its gate opens, or it is over."""
    finalized_at: Moment | None
    code: str | None
    error_code: str | None
    cancel_requested: bool
    waits_behind: str | None
    """The job that goes first, because both have the same serial key."""
    correlation_id: str
    version: int
    """What `If-Match` is about: `"job_…:17"`."""
    error_count: int
    lease: LeaseView | None
    attempts: tuple[AttemptView, ...]
    """The last one is the present one, or the last that there was."""
    arguments: tuple[str, ...]
    """Their names; values are never shown."""
    links: LinksView


class JobReportView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What became of a job, for whoever enqueued it."""

    id: str
    kind: str
    state: str
    arguments: tuple[str, ...]
    """Their names; values are never shown."""
    attempts: tuple[AttemptView, ...]
    progress: dict[str, Any] | None
    """What its handler said last while it runs."""
    result: dict[str, Any] | None
    """What its handler returned, without secrets; null: it has not succeeded."""
    code: str | None
    error_code: str | None
    finalized_at: Moment | None


def job_view(surface: Surface, row: JobRow, now: datetime) -> JobView:
    """Return a job of a list."""
    return JobView(
        id=told(Prefix.JOB, row.stream_id),
        kind=row.kind,
        queue=row.queue,
        priority=row.priority,
        state=_state(surface, row, now),
        parked_cause=_parked_cause(surface, row.cause, row.error_code),
        attempt=row.attempt,
        max_attempts=row.max_attempts,
        created_at=moment(row.created_at),
        updated_at=moment(row.updated_at),
        scheduled_at=moment_if(row.run_at),
        attempted_at=moment_if(row.claimed_at),
        finalized_at=moment_if(row.finished_at),
        code=row.code,
        error_code=row.error_code,
        cancel_requested=row.cancel_requested,
        correlation_id=row.correlation_id,
        serves=ServesView(
            operation_id=told_if(Prefix.OPERATION, row.operation_id),
            delivery_id=told_if(Prefix.DELIVERY, row.delivery_id),
            order_id=row.order_id,
        ),
    )


def _state(surface: Surface, job: HasState, now: datetime) -> str:
    return shop(job) if surface is Surface.SHOPS else river(job, now)


def _parked_cause(
    surface: Surface, cause: str | None, met: str | None
) -> str | UnsetType:
    is_told = surface is not Surface.SHOPS and cause == "parked" and met is not None
    return met if is_told and met is not None else UNSET


def detail_view(surface: Surface, job: JobRecord) -> JobDetailView:
    """Return one job with all that it went through."""
    line = job.line
    return JobDetailView(
        id=told(Prefix.JOB, job.job_id),
        kind=job.kind,
        queue=job.queue,
        priority=job.priority,
        state=_state(surface, job, job.now),
        parked_cause=_parked_cause(
            surface, job.cause, None if line is None else line.error_code
        ),
        attempt=line.attempt if line else len(job.tries),
        max_attempts=line.max_attempts if line else None,
        created_at=moment(job.created_at),
        scheduled_at=moment_if(job.run_at),
        finalized_at=moment_if(job.finished_at),
        code=line.code if line else None,
        error_code=line.error_code if line else None,
        cancel_requested=line is not None and line.cancel_requested,
        waits_behind=told_if(Prefix.JOB, line.waits_behind if line else None),
        correlation_id=job.correlation_id,
        version=job.version,
        error_count=sum(each.result in _ERRORS for each in job.tries),
        lease=_lease(job),
        attempts=tuple(_attempt(surface, each) for each in job.tries),
        arguments=job.args,
        links=_links(surface, job),
    )


_ERRORS = frozenset({"failed", "lease_lost", "discarded"})


def _lease(job: JobRecord) -> LeaseView | None:
    if job.line is None or job.state != "running":
        return None
    return LeaseView(
        host=job.line.owner_host,
        pid=job.line.owner_pid,
        claimed_at=moment_if(job.line.claimed_at),
        until=moment_if(job.line.lease_until),
    )


def _attempt(surface: Surface, each: Try) -> AttemptView:
    is_inside = surface is not Surface.SHOPS
    return AttemptView(
        attempt=each.attempt,
        started_at=moment(each.started_at),
        ended_at=moment_if(each.ended_at),
        result=each.result,
        code=each.code,
        error=each.error,
        retry_at=moment_if(each.retry_at),
        # Which machine it was is nobody's business outside.
        worker=f"{each.host}:{each.pid}" if is_inside and each.host else None,
    )


def _links(surface: Surface, job: JobRecord) -> LinksView:
    address = f"{surface}/jobs/{told(Prefix.JOB, job.job_id)}"
    line, is_inside = job.line, surface is not Surface.SHOPS
    operation = line.operation_id if line and is_inside else None
    delivery = line.delivery_id if line and is_inside else None
    return LinksView(
        self=address,
        report=f"{address}/report",
        events=f"{address}/events" if is_inside else None,
        cancel=f"{address}/cancel",
        retry=f"{address}/retry",
        operation=f"{surface}/operations/op_{operation}" if operation else None,
        delivery=f"{surface}/deliveries/dlv_{delivery}" if delivery else None,
    )


def report_view(surface: Surface, job: JobRecord) -> JobReportView:
    """Return what became of a job."""
    line = job.line
    return JobReportView(
        id=told(Prefix.JOB, job.job_id),
        kind=job.kind,
        state=_state(surface, job, job.now),
        arguments=job.args,
        attempts=tuple(_attempt(surface, each) for each in job.tries),
        progress=job.progress,
        result=job.result,
        code=line.code if line else None,
        error_code=line.error_code if line else None,
        finalized_at=moment_if(job.finished_at),
    )
