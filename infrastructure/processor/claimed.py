"""One claim of one job, and what becomes of claims whose COMMIT was not answered."""

import time
from collections.abc import Sequence
from typing import Final
from uuid import UUID

import msgspec

from domain.event import Instant
from infrastructure.errors import DatabaseUnavailableError
from infrastructure.postgres.database import Connection, transaction
from infrastructure.postgres.heads.table import (
    instant,
    maybe_instant,
    maybe_text,
    number,
    text,
    uuid,
)

# The locks wait for the backend whose answer was lost (mechanisms 10).
_ADOPT: Final = """
SELECT stream_id, tenant_id, kind, token, attempt, max_attempts, args::text, run_at,
       deadline, correlation_id, priority, counterfoil.now(), queue,
       unique_key, claim_id
  FROM counterfoil.jobs
 WHERE stream_id = ANY(%(ids)s)
 ORDER BY stream_id
   FOR UPDATE
"""


class ClaimedJob(msgspec.Struct, frozen=True, kw_only=True):
    """One claim: what a handler and the settler need to know of the job."""

    id: UUID
    tenant_id: str
    kind: str
    token: int
    attempt: int
    max_attempts: int | None
    args: str
    """JSON text, decoded by the kind's own struct."""
    run_at: Instant
    deadline: Instant | None
    correlation_id: str
    priority: int
    claimed_at: Instant
    queue: str
    unique_key: str | None


def job_of(row: tuple[object, ...]) -> ClaimedJob:
    """Return the claim that one row of a claim, or of an adoption, tells."""
    return ClaimedJob(
        id=uuid(row[0]),
        tenant_id=text(row[1]),
        kind=text(row[2]),
        token=number(row[3]),
        attempt=number(row[4]),
        max_attempts=None if row[5] is None else number(row[5]),
        args=text(row[6]),
        run_at=instant(row[7]),
        deadline=maybe_instant(row[8]),
        correlation_id=text(row[9]),
        priority=number(row[10]),
        claimed_at=instant(row[11]),
        queue=text(row[12]),
        unique_key=maybe_text(row[13]),
    )


class ClaimInDoubtError(DatabaseUnavailableError):
    """The connection ended while the claim of `jobs` was being committed."""

    code = "claim_in_doubt"

    def __init__(self, jobs: Sequence[ClaimedJob], claim_id: UUID) -> None:
        """Keep what the claim had answered before its end was lost."""
        self.jobs = tuple(jobs)
        self.claim_id = claim_id
        self.at = time.monotonic()
        super().__init__("the answer of COMMIT was lost")


def adopt(connection: Connection, doubt: ClaimInDoubtError) -> list[ClaimedJob]:
    """Return the jobs that the claim whose answer was lost did commit.

    Raises:
        DatabaseUnavailableError: still unknown; ask again over a new connection.
        psycopg.Error: a lock was not free in time; ask again.
    """
    ids = [job.id for job in doubt.jobs]
    with transaction(connection):
        rows = connection.execute(_ADOPT, {"ids": ids}).fetchall()
    return [job_of(row) for row in rows if row[14] == doubt.claim_id]
