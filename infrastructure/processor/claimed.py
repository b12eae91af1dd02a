"""One claim of one job, and what becomes of claims whose COMMIT was not answered."""

import time
from collections.abc import Mapping, Sequence
from typing import Final, LiteralString, cast
from uuid import UUID

import msgspec

from domain.event import Instant
from infrastructure.errors import CommitUnknownError, DatabaseUnavailableError
from infrastructure.postgres.database import Connection, transaction
from infrastructure.postgres.heads.table import instant, uuid
from infrastructure.postgres.utc import instant_sent

COLUMNS: Final = """
SELECT stream_id, tenant_id, kind, token, attempt, max_attempts, args::text, deadline,
       correlation_id, priority, queue, unique_key, timestamptz_send(run_at)"""
"""What a claim answers of each job, in the order of `ClaimedJob`."""

# The locks wait for the backend whose answer was lost (mechanisms 10).
_ADOPT: Final = (
    COLUMNS
    + """, counterfoil.now(), claim_id
  FROM counterfoil.jobs
 WHERE stream_id = ANY(%(ids)s)
 ORDER BY stream_id
   FOR UPDATE
"""
)


class ClaimedJob(msgspec.Struct, frozen=True):
    """One claim: what a handler and the settler need to know of the job."""

    id: UUID
    tenant_id: str
    kind: str
    token: int
    attempt: int
    max_attempts: int | None
    args: str
    """JSON text, decoded by the kind's own struct."""
    deadline: Instant | None
    correlation_id: str
    priority: int
    queue: str
    unique_key: str | None
    due: bytes
    """`run_at` as PostgreSQL sends it; compares like the instant, and costs nothing
    to read as long as nobody asks what it says."""
    claimed_at: Instant


def job_of(row: tuple[object, ...], claimed_at: Instant) -> ClaimedJob:
    """Return the claim that a row of `COLUMNS` tells."""
    return ClaimedJob(*cast("_Row", row), claimed_at)


type _Row = tuple[
    UUID,
    str,
    str,
    int,
    int,
    int | None,
    str,
    Instant | None,
    str,
    int,
    str,
    str | None,
    bytes,
]


class ClaimInDoubtError(DatabaseUnavailableError):
    """The connection ended while the claim of `jobs` was being committed."""

    code = "claim_in_doubt"

    def __init__(
        self,
        jobs: Sequence[ClaimedJob],
        claim_id: UUID,
        *,
        are_suspects: bool = False,
    ) -> None:
        """Keep what the claim had answered before its end was lost."""
        self.jobs = tuple(jobs)
        self.claim_id = claim_id
        self.at = time.monotonic()
        self.are_suspects = are_suspects
        super().__init__("the answer of COMMIT was lost")


def commit_claim(
    connection: Connection,
    statement: LiteralString,
    asked: Mapping[str, object],
    *,
    suspects: bool,
) -> list[ClaimedJob]:
    """Return what `statement` claims, committed.

    Raises:
        ClaimInDoubtError: the answer of COMMIT was lost.
        DatabaseUnavailableError: nothing was claimed.
    """
    jobs: list[ClaimedJob] = []
    try:
        with transaction(connection, keyed=True):
            rows = connection.execute(
                statement, asked, prepare=True, binary=True
            ).fetchall()
            at = instant_sent(cast("bytes", rows[0][-1])) if rows else None
            jobs = [job_of(row[:-1], at) for row in rows if at]
    except CommitUnknownError as error:
        raise ClaimInDoubtError(
            jobs, uuid(asked["claim_id"]), are_suspects=suspects
        ) from error
    return jobs


def adopt(connection: Connection, doubt: ClaimInDoubtError) -> list[ClaimedJob]:
    """Return the jobs that the claim whose answer was lost did commit.

    Raises:
        DatabaseUnavailableError: still unknown; ask again over a new connection.
        psycopg.Error: a lock was not free in time; ask again.
    """
    ids = [job.id for job in doubt.jobs]
    with transaction(connection):
        rows = connection.execute(_ADOPT, {"ids": ids}, binary=True).fetchall()
    mine = (row for row in rows if row[-1] == doubt.claim_id)
    return [job_of(row[:-2], instant(row[-2])) for row in mine]
