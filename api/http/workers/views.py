"""What is answered about workers."""

import msgspec

from api.http.wire.ids import Prefix, told
from api.http.wire.values import Moment, Position, moment, moment_if, position
from projections.queries.processing.workers import WorkerLine, WorkerPage


class HeldJobView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One job that a worker holds."""

    id: str
    kind: str
    queue: str


class WorkerView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One process that claims jobs, or did."""

    id: str
    host: str
    pid: int
    state: str
    """`alive`, `draining`, `drained`, `stopped` or `silent`."""
    roles: tuple[str, ...]
    kinds: tuple[str, ...]
    """Kinds of job that it runs."""
    started_at: Moment
    beat_at: Moment
    """When it was heard of last."""
    stopped_at: Moment | None
    draining_since: Moment | None
    running: int
    """How many jobs it holds."""
    jobs: tuple[HeldJobView, ...]
    """The first 20 of them."""


class WorkersView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The processes that were heard of within a day, the last one first."""

    now: Moment
    items: tuple[WorkerView, ...]


class DrainedView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A worker that was asked to drain."""

    id: str
    state: str
    """`draining`, or `drained` when it holds nothing."""
    draining_since: Moment | None
    running: int
    position: Position | None
    """A read at this position sees the record of it; null: it was said before."""


def workers_view(page: WorkerPage) -> WorkersView:
    """Return the processes."""
    items = tuple(_worker(line) for line in page.workers)
    return WorkersView(now=moment(page.now), items=items)


def drained_view(line: WorkerLine, at: int | None) -> DrainedView:
    """Return a worker as it is now, after it was asked."""
    return DrainedView(
        id=told(Prefix.WORKER, line.boot_id),
        state=line.state,
        draining_since=moment_if(line.draining_since),
        running=line.running,
        position=None if at is None else position(at),
    )


def _worker(line: WorkerLine) -> WorkerView:
    return WorkerView(
        id=told(Prefix.WORKER, line.boot_id),
        host=line.host,
        pid=line.pid,
        state=line.state,
        roles=line.roles,
        kinds=line.kinds,
        started_at=moment(line.started_at),
        beat_at=moment(line.beat_at),
        stopped_at=moment_if(line.stopped_at),
        draining_since=moment_if(line.draining_since),
        running=line.running,
        jobs=tuple(
            HeldJobView(
                id=told(Prefix.JOB, each.job_id), kind=each.kind, queue=each.queue
            )
            for each in line.jobs
        ),
    )
