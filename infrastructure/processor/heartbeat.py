"""Confirm leases, save progress, bring back cancel requests; one statement.

SKIP LOCKED: a locked row is being settled and needs no confirmation.  The update
names volatile columns only, which no index holds, so it stays HOT (mechanisms 9).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import psycopg

from application.roles import JOBS
from application.unit import Group
from domain.jobs.events import Owner
from domain.stream import Change
from infrastructure.postgres.database import Connection, transaction
from infrastructure.postgres.groups.with_rows import GroupWithRows
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
INSERT INTO counterfoil.workers (boot_id, host, pid, kinds, roles, lingering)
VALUES (%(boot)s, %(host)s, %(pid)s, %(kinds)s, %(roles)s, %(lingering)s::uuid[])
ON CONFLICT (boot_id) DO UPDATE
   SET beat_at = counterfoil.now(), lingering = excluded.lingering
"""

_LINGERS: Final = """
UPDATE counterfoil.workers
   SET lingering = array_append(lingering, %(job)s::uuid)
 WHERE boot_id = %(boot)s
   AND %(job)s::uuid <> ALL(lingering)
"""

_DEREGISTER: Final = """
UPDATE counterfoil.workers SET stopped_at = counterfoil.now() WHERE boot_id = %(boot)s
"""


def beat(
    connection: Connection,
    owner: Owner,
    held: Sequence[Held],
    lingering: Sequence[UUID] = (),
) -> list[Confirmation]:
    """Return what the database said about each held job, confirmed and committed.

    `lingering` are jobs whose handler runs although its run is over.

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
        return _beat(connection, owner, parameters, lingering)
    except psycopg.DataError as error:
        # A progress that PostgreSQL cannot store must not cost anybody's lease.
        emit("progress unstorable", error=type(error).__name__)
        bare = parameters | {"progresses": [None for _ in held]}
        return _beat(connection, owner, bare, lingering)


def _beat(
    connection: Connection,
    owner: Owner,
    parameters: Mapping[str, object],
    lingering: Sequence[UUID],
) -> list[Confirmation]:
    with transaction(connection):
        register(connection, owner, (), lingering=lingering)
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
    lingering: Sequence[UUID] = (),
) -> None:
    """Say that this process lives; kinds and roles are told once, at its start."""
    parameters = {
        "boot": owner.boot,
        "host": owner.host,
        "pid": owner.pid,
        "kinds": list(kinds),
        "roles": list(roles),
        "lingering": list(lingering),
    }
    connection.execute(_REGISTER, parameters)


@dataclass(frozen=True, slots=True)
class Lingering:
    """Says that a handler runs on, in the transaction that ends its run; see `Rows`.

    Whoever retries the job is refused meanwhile (S20): a thread cannot be ended.  A
    heartbeat takes it back once the handler has returned.
    """

    boot: UUID
    job: UUID

    def before(self, connection: Connection) -> None:
        """See `Rows.before`."""

    def after(
        self, connection: Connection, changes: tuple[Change, ...], position: int
    ) -> None:
        """See `Rows.after`."""
        del changes, position
        connection.execute(_LINGERS, {"boot": self.boot, "job": self.job})


def telling_what_lingers(group: Group, held: Held, boot: UUID | None) -> Group:
    """Return the end of a run, which says so when its handler runs on."""
    if boot is None or not held.lingers:
        return group
    return GroupWithRows.of(group, Lingering(boot, held.job.id))


def deregister(connection: Connection, owner: Owner) -> None:
    """Say that this process has stopped in order."""
    connection.execute(_DEREGISTER, {"boot": owner.boot})
