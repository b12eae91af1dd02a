"""Claims as they are measured: how long they took, and how long jobs had waited."""

import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from struct import Struct
from typing import Final, LiteralString

from infrastructure.postgres.database import Connection
from infrastructure.postgres.heads.table import text
from infrastructure.processor.claimed import ClaimedJob, commit_claim
from infrastructure.telemetry import is_measured, measure
from infrastructure.telemetry.measures import EventsAppended, JobsClaimed

_EPOCH: Final = datetime(2000, 1, 1, tzinfo=UTC)
_DUE: Final = Struct("!q")
_MICROSECOND: Final = timedelta(microseconds=1)


def measured_claim(
    connection: Connection,
    statement: LiteralString,
    asked: Mapping[str, object],
    *,
    suspects: bool,
) -> list[ClaimedJob]:
    """See `commit_claim`; what it did is measured."""
    began_at = time.monotonic()
    jobs = commit_claim(connection, statement, asked, suspects=suspects)
    if asked["n"] and is_measured():
        seconds = time.monotonic() - began_at
        measure(JobsClaimed(text(asked["queue"]), seconds, _waits(jobs)))
        if jobs:
            measure(EventsAppended({"job": len(jobs)}))
    return jobs


def _waits(jobs: Sequence[ClaimedJob]) -> dict[str, list[float]]:
    """Return the seconds from when each was ready; `due` is read as it was sent."""
    waits: dict[str, list[float]] = {kind: [] for kind in {job.kind for job in jobs}}
    if jobs:
        at = (jobs[0].claimed_at - _EPOCH) // _MICROSECOND
        for job in jobs:
            (due,) = _DUE.unpack(job.due)
            waits[job.kind].append((at - due) / 1_000_000 if due < at else 0.0)
    return waits
