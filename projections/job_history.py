"""One job from its stream alone, so also after it has succeeded."""

from dataclasses import dataclass
from typing import Final
from uuid import UUID

import msgspec

from domain.members import is_list
from projections.connections import Lend
from projections.log_event import COLUMNS, LogEvent, read_events

_STREAM: Final = COLUMNS + " WHERE e.stream_id = %(stream_id)s ORDER BY e.version"

_STATES: Final = {
    "job.claimed": "running",
    "job.cancel_requested": "running",
    "job.succeeded": "succeeded",
    "job.discarded": "discarded",
    "job.cancelled": "cancelled",
}
"""The state after an event; after every other one the job waits."""


class JobStory(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Everything that happened to one job, in order."""

    job_id: UUID
    kind: str
    queue: str
    state: str
    correlation_id: str
    args: tuple[str, ...]
    """Names of its arguments; their values are not shown."""
    events: tuple[LogEvent, ...]


@dataclass(frozen=True, slots=True)
class JobHistory:
    """Reads the streams of jobs."""

    lend: Lend

    def __call__(self, job: UUID) -> JobStory | None:
        """Return what happened to a job, or None when no job has that id."""
        with self.lend() as connection:
            events = read_events(connection, _STREAM, {"stream_id": job})
        if not events or events[0].type != "job.enqueued":
            return None
        first = events[0]
        names = first.data.get("args")
        return JobStory(
            job_id=job,
            kind=first.told("kind") or "",
            queue=first.told("queue") or "",
            state=_STATES.get(events[-1].type, "waiting"),
            correlation_id=first.meta.correlation_id,
            args=tuple(str(name) for name in names) if is_list(names) else (),
            events=tuple(events),
        )
