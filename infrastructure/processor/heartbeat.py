"""Confirm leases, save progress, bring back cancel requests; one statement.

SKIP LOCKED: a locked row is being settled and needs no confirmation.  The update
names volatile columns only, which no index holds, so it stays HOT (mechanisms 9).
"""

from collections.abc import Mapping, Sequence
from typing import Final

import psycopg

from application.roles import JOBS
from domain.jobs.events import Owner
from infrastructure.postgres.database import Connection, transaction
from infrastructure.postgres.heads.table import number, uuid
from infrastructure.processor.leases import Confirmation, Held
from infrastructure.telemetry import emit

_BEAT: Final = """
WITH held AS (
    SELECT *
      FROM unnest(%(ids)b::uuid[], %(tokens)b::int[], %(leases)b::int[],
                  %(progresses)b::text[])
           AS t(stream_id, token, lease_seconds, progress)
), mine AS (
    SELECT j.stream_id, h.lease_seconds, h.progress
      FROM counterfoil.jobs j
      JOIN held h ON h.stream_id = j.stream_id
     WHERE j.token = h.token
       AND j.state = 'running'
     ORDER BY j.stream_id
       FOR UPDATE OF j SKIP LOCKED
), beaten AS (
    UPDATE counterfoil.jobs j
       SET beat_at = counterfoil.now(),
           lease_until = counterfoil.now() + make_interval(secs => m.lease_seconds),
           progress = coalesce(m.progress::jsonb, j.progress)
      FROM mine m
     WHERE j.stream_id = m.stream_id
    RETURNING j.stream_id, j.cancel_requested
)
SELECT h.stream_id,
       b.stream_id IS NOT NULL,
       b.stream_id IS NULL AND j.token IS DISTINCT FROM h.token,
       coalesce(b.cancel_requested, false),
       h.token
  FROM held h
  LEFT JOIN beaten b ON b.stream_id = h.stream_id
  LEFT JOIN counterfoil.jobs j ON j.stream_id = h.stream_id
"""

_REGISTER: Final = """
INSERT INTO counterfoil.workers (boot_id, host, pid, kinds, roles)
VALUES (%(boot)s, %(host)s, %(pid)s, %(kinds)s, %(roles)s)
ON CONFLICT (boot_id) DO UPDATE SET beat_at = counterfoil.now()
"""

_DEREGISTER: Final = """
UPDATE counterfoil.workers SET stopped_at = counterfoil.now() WHERE boot_id = %(boot)s
"""


def beat(
    connection: Connection, owner: Owner, held: Sequence[Held]
) -> list[Confirmation]:
    """Return what the database said about each held job, confirmed and committed.

    Raises:
        DatabaseUnavailableError: nothing is known to be confirmed.
    """
    parameters = {
        "ids": [each.job.id for each in held],
        "tokens": [each.job.token for each in held],
        "leases": [each.kind.lease_seconds for each in held],
        "progresses": [each.take_progress() for each in held],
    }
    try:
        return _beat(connection, owner, parameters)
    except psycopg.DataError as error:
        # A progress that PostgreSQL cannot store must not cost anybody's lease.
        emit("progress unstorable", error=type(error).__name__)
        bare = parameters | {"progresses": [None for _ in held]}
        return _beat(connection, owner, bare)


def _beat(
    connection: Connection, owner: Owner, parameters: Mapping[str, object]
) -> list[Confirmation]:
    with transaction(connection):
        register(connection, owner, ())
        rows = connection.execute(_BEAT, parameters, prepare=True).fetchall()
    return [
        Confirmation(
            job_id=uuid(row[0]),
            is_confirmed=bool(row[1]),
            is_lost=bool(row[2]),
            cancel_requested=bool(row[3]),
            token=number(row[4]),
        )
        for row in rows
    ]


def register(
    connection: Connection,
    owner: Owner,
    kinds: Sequence[str],
    roles: Sequence[str] = (JOBS,),
) -> None:
    """Say that this process lives; kinds and roles are told once, at its start."""
    parameters = {
        "boot": owner.boot,
        "host": owner.host,
        "pid": owner.pid,
        "kinds": list(kinds),
        "roles": list(roles),
    }
    connection.execute(_REGISTER, parameters)


def deregister(connection: Connection, owner: Owner) -> None:
    """Say that this process has stopped in order."""
    connection.execute(_DEREGISTER, {"boot": owner.boot})
