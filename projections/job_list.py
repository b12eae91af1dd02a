"""The jobs that are not over and the dead ones, newest first, page by page."""

from dataclasses import dataclass
from typing import Final
from uuid import UUID

import msgspec

from domain.event import Instant
from projections.connections import Lend, one_snapshot
from projections.job_line import DEAD, LIVE, JobLine, read_lines
from projections.moment import read_moment

# `is_live` and `is_dead` say where to look at all: a state that a table never holds
# would be looked for in every row of it.
_LIVE_WHERE: Final = """
 WHERE %(is_live)s
   AND (%(states)s::text[] IS NULL OR j.state = ANY(%(states)s))
   AND (%(cause)s::text IS NULL OR (j.state = 'waiting' AND
        coalesce(j.cause, CASE WHEN j.run_at <= counterfoil.now() THEN 'due'
                               ELSE 'not_due' END) = %(cause)s))
   AND (%(kind)s::text IS NULL OR j.kind = %(kind)s)
   AND (%(queue)s::text IS NULL OR j.queue = %(queue)s)
   AND (%(tenant_id)s::text IS NULL OR j.tenant_id = %(tenant_id)s)
   AND (%(after)s::uuid IS NULL OR j.stream_id < %(after)s)
 ORDER BY j.stream_id DESC
 LIMIT %(limit)s
"""

_DEAD_WHERE: Final = """
 WHERE %(is_dead)s
   AND (%(states)s::text[] IS NULL OR d.state = ANY(%(states)s))
   AND (%(kind)s::text IS NULL OR d.kind = %(kind)s)
   AND (%(queue)s::text IS NULL OR d.queue = %(queue)s)
   AND (%(tenant_id)s::text IS NULL OR d.tenant_id = %(tenant_id)s)
   AND (%(after)s::uuid IS NULL OR d.stream_id < %(after)s)
 ORDER BY d.stream_id DESC
 LIMIT %(limit)s
"""

_PAGE: Final = (
    "(" + LIVE + _LIVE_WHERE + ") UNION ALL (" + DEAD + _DEAD_WHERE + ")"
    " ORDER BY job_id DESC LIMIT %(limit)s"
)

# Of an unknown table the planner believes that it is shorter to walk over all of it.
_BY_KEY: Final = "SET LOCAL enable_seqscan = off"

LIVE_STATES: Final = ("waiting", "running")

STATES: Final = {
    "waiting": ("waiting", None),
    "due": ("waiting", "due"),
    "not_due": ("waiting", "not_due"),
    "after_failure": ("waiting", "after_failure"),
    "parked": ("waiting", "parked"),
    "running": ("running", None),
    "discarded": ("discarded", None),
    "cancelled": ("cancelled", None),
}
"""What may be asked for, and the state and cause that it means."""


class JobFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which jobs are wanted; None means any."""

    state: str | None = None
    """One of `STATES`."""
    kind: str | None = None
    queue: str | None = None
    tenant_id: str | None = None
    after: UUID | None = None
    """The last job of the page before."""
    limit: int = 50


class JobPage(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One page of jobs, and the moment that it shows."""

    jobs: tuple[JobLine, ...]
    now: Instant
    live_workers: int
    has_more: bool


@dataclass(frozen=True, slots=True)
class JobList:
    """Lists jobs."""

    lend: Lend

    def __call__(self, wanted: JobFilter) -> JobPage:
        """Return one page of jobs."""
        state, cause = STATES[wanted.state] if wanted.state else (None, None)
        parameters: dict[str, object] = msgspec.structs.asdict(wanted)
        parameters |= {
            "states": None if state is None else [state],
            "is_live": state is None or state in LIVE_STATES,
            "is_dead": cause is None and state not in LIVE_STATES,
            "cause": cause,
            "limit": wanted.limit + 1,
        }
        with one_snapshot(self.lend) as connection:
            connection.execute(_BY_KEY)
            moment = read_moment(connection)
            lines = read_lines(connection, _PAGE, parameters)
        return JobPage(
            jobs=tuple(lines[: wanted.limit]),
            now=moment.now,
            live_workers=moment.live_workers,
            has_more=len(lines) > wanted.limit,
        )
