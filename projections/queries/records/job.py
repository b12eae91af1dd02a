"""One job with everything that happened to it, and what it went through.

Read off its head and its stream, which are never behind.  Of arguments only the names
are told; the result is whoever's it is that enqueued the job, and is told masked.
"""

from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

import msgspec
import psycopg
from psycopg.rows import class_row

from domain.event import Instant, JsonObject
from domain.masking import masked
from domain.members import is_list
from domain.text import redact, stated
from projections.connections import Lend, one_snapshot
from projections.job_line import DEAD, LIVE, JobLine, read_lines
from projections.log_event import COLUMNS, LogEvent, read_events
from projections.queries.records.tries import Try, tries_of

MOST_EVENTS: Final = 500
"""Of one job, the latest, beside its birth."""

_BIRTH: Final = COLUMNS + " WHERE e.stream_id = %(id)s AND e.version = 1"
_LATEST: Final = (
    COLUMNS
    + """
 WHERE e.stream_id = %(id)s
   AND e.version > 1
 ORDER BY e.version DESC
 LIMIT %(limit)s
"""
)
_HEAD: Final = (
    "(" + LIVE + " WHERE j.stream_id = %(id)s)"
    " UNION ALL (" + DEAD + " WHERE d.stream_id = %(id)s)"
)
_TOLD: Final = """
SELECT counterfoil.now() AS now,
       (SELECT j.progress::text
          FROM counterfoil.jobs j
         WHERE j.stream_id = %(id)s) AS progress,
       (SELECT e.data->>'result'
          FROM counterfoil.events e
         WHERE e.stream_id = %(id)s
           AND e.version = %(version)s
           AND e.type = 'job.succeeded') AS result
"""
_NAME_CHARACTERS: Final = 128
_STATES: Final = {"job.succeeded": "succeeded"}

_json = msgspec.json.Decoder(dict[str, object])


class _Told(msgspec.Struct, frozen=True):
    now: Instant
    progress: str | None
    result: str | None


class JobRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One job, as far as anybody may see it."""

    job_id: UUID
    tenant_id: str
    version: int
    kind: str
    queue: str
    priority: int
    state: str
    """`waiting`, `running`, `succeeded`, `discarded` or `cancelled`."""
    cause: str | None
    """Why it waits, if it does: `after_failure` or `parked`."""
    run_at: Instant | None
    created_at: Instant
    finished_at: Instant | None
    correlation_id: str
    args: tuple[str, ...]
    """Names of its arguments."""
    line: JobLine | None
    """None: it has succeeded, and has no head any more."""
    progress: JsonObject | None
    result: JsonObject | None
    tries: tuple[Try, ...]
    events: tuple[LogEvent, ...]
    """In order; of very many the latest, and the first."""
    now: Instant


@dataclass(frozen=True, slots=True)
class JobRecordOf:
    """Tells everything of one job."""

    lend: Lend

    def __call__(self, job_id: UUID, tenant_id: str | None = None) -> JobRecord | None:
        """Return a job; None: the tenant has none of that id."""
        asked: dict[str, object] = {"id": job_id, "limit": MOST_EVENTS}
        with one_snapshot(self.lend) as connection:
            birth = read_events(connection, _BIRTH, asked)
            if not birth or birth[0].type != "job.enqueued":
                return None
            if tenant_id not in {None, birth[0].tenant_id}:
                return None
            events = birth + read_events(connection, _LATEST, asked)[::-1]
            lines = read_lines(connection, _HEAD, asked)
            told = _told(connection, job_id, events[-1].version)
        return _record(job_id, tuple(events), lines[0] if lines else None, told)


def _told(connection: psycopg.Connection[Any], job_id: UUID, version: int) -> _Told:
    given = {"id": job_id, "version": version}
    with connection.cursor(row_factory=class_row(_Told)) as cursor:
        (told,) = cursor.execute(_TOLD, given).fetchall()
    return told


def _record(
    job_id: UUID, events: tuple[LogEvent, ...], line: JobLine | None, told: _Told
) -> JobRecord:
    birth, last = events[0], events[-1]
    state = line.state if line else _STATES.get(last.type, "waiting")
    is_over = state not in {"waiting", "running"}
    return JobRecord(
        job_id=job_id,
        tenant_id=birth.tenant_id,
        version=last.version,
        kind=birth.told("kind") or "",
        queue=birth.told("queue") or "",
        priority=line.priority if line else int(birth.told("priority") or 0),
        state=state,
        cause=line.cause if line else None,
        run_at=line.run_at if line else None,
        created_at=birth.recorded_at,
        finished_at=last.recorded_at if is_over else None,
        correlation_id=birth.meta.correlation_id,
        args=_names(birth.data.get("args")),
        line=line,
        progress=_shown(told.progress),
        result=_shown(told.result),
        tries=tries_of(events),
        events=events,
        now=told.now,
    )


def _names(told: object) -> tuple[str, ...]:
    """Return names of arguments: whoever enqueues may write anything there too."""
    if not is_list(told):
        return ()
    return tuple(stated(str(name), _NAME_CHARACTERS) for name in told)


def _shown(told: str | None) -> JsonObject | None:
    """Return an object as it may be shown; what is none, is nothing."""
    if told is None:
        return None
    try:
        return {
            redact(name): masked(name, value)
            for name, value in _json.decode(told).items()
        }
    except (msgspec.DecodeError, RecursionError):
        return None
