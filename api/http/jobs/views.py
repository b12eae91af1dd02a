"""What is answered about what was done to jobs."""

import msgspec

from api.http.call import Call
from api.http.surface import Surface
from api.http.wire.ids import Prefix, told_if
from api.http.wire.values import Position, position
from application.operators.action import Done
from domain.event import Instant
from domain.jobs.aggregate import Job, Stage
from domain.stream import Ref, StreamKind
from projections.queries.grammar.job_words import river, shop


class ActedView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What somebody's action has changed."""

    job_id: str | None
    operation_id: str | None
    delivery_id: str | None
    state: str | None
    """Of the job as it is now, in the words of the surface; null: there is none."""
    events: tuple[str, ...]
    """Tags of the events that it wrote; none: it was so already, or done before."""
    position: Position
    """A read at this position sees them."""


def acted_view(call: Call, done: Done) -> ActedView:
    """Return what was done, and how the job is now."""
    return ActedView(
        job_id=told_if(Prefix.JOB, done.job_id),
        operation_id=told_if(Prefix.OPERATION, done.operation_id),
        delivery_id=told_if(Prefix.DELIVERY, done.delivery_id),
        state=_state(call, done),
        events=done.events,
        position=position(done.position),
    )


class _State(msgspec.Struct, frozen=True, kw_only=True):
    state: str
    cause: str | None
    run_at: Instant | None


def _state(call: Call, done: Done) -> str | None:
    """Return the state of the job, by its head or by what it ended with."""
    if done.job_id is None:
        return None
    streams = call.services.retry.targets.streams
    head = streams.head(Ref(StreamKind.JOB, done.job_id))
    job = head.state if head is not None and isinstance(head.state, Job) else None
    if job is None:
        job = Job(stage=Stage.SUCCEEDED)  # alone of all it has no head any more
    now = _State(state=job.stage, cause=job.cause, run_at=job.run_at)
    if call.surface is Surface.SHOPS:
        return shop(now)
    return river(now, streams.clock())
