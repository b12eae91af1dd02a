"""Heads of jobs: `counterfoil.jobs` holds unfinished work only.

A success deletes the row, a death moves it to `jobs_dead`, an operator's retry
moves it back; the log keeps the history.  Claiming is no business of this module:
it is one set-based statement (`infrastructure.processor.claim`).
"""

from typing import Final
from uuid import UUID

from application.unit import Head
from domain.event import Meta
from domain.jobs.aggregate import Cause, Job, Stage
from domain.jobs.events import Enqueued, Owner
from domain.stream import Change
from infrastructure.postgres.heads.table import (
    Columns,
    HeadTable,
    Row,
    folded,
    instant,
    maybe_instant,
    maybe_text,
    number,
    text,
    uuid,
)

_READ: Final = """
SELECT stream_id, tenant_id, correlation_id, version, state, kind, queue, priority,
       unique_key, serial_key, serial_order, run_at, max_attempts, deadline, cause,
       attempt, parkings, token, owner_host, owner_pid, owner_boot, cancel_requested,
       NULL::text, error_code, lease_until, crashes, is_suspect, gate,
       concurrency_limit
  FROM counterfoil.jobs
 WHERE stream_id = ANY(%(ids)s)
"""

READ_DEAD: Final = """
SELECT stream_id, tenant_id, correlation_id, version, state, kind, queue, priority,
       unique_key, serial_key, serial_order, run_at, max_attempts, deadline,
       NULL::text, attempt, parkings, NULL::integer, NULL::text, NULL::integer,
       NULL::uuid, false, code, error_code, NULL::timestamptz, crashes, is_suspect,
       NULL::text, concurrency_limit
  FROM counterfoil.jobs_dead
 WHERE stream_id = ANY(%(ids)s)
"""

_INSERT: Final = """
INSERT INTO counterfoil.jobs
SELECT * FROM jsonb_populate_recordset(NULL::counterfoil.jobs, %(rows)s::jsonb)
"""

# Every change that keeps a job here, but the claim, ends the running or asks to:
# the claim's volatile columns go with it.
_UPDATE: Final = """
UPDATE counterfoil.jobs j
   SET version = r.version,
       state = r.state,
       run_at = r.run_at,
       cause = r.cause,
       gate = r.gate,
       attempt = r.attempt,
       parkings = r.parkings,
       crashes = r.crashes,
       is_suspect = r.is_suspect,
       token = r.token,
       owner_host = r.owner_host,
       owner_pid = r.owner_pid,
       owner_boot = r.owner_boot,
       cancel_requested = r.cancel_requested,
       error_code = r.error_code,
       claim_id = CASE WHEN r.state = 'running' THEN j.claim_id END,
       lease_until = CASE WHEN r.state = 'running' THEN j.lease_until END,
       beat_at = CASE WHEN r.state = 'running' THEN j.beat_at END,
       progress = CASE WHEN r.state = 'running' THEN j.progress END
  FROM jsonb_populate_recordset(NULL::counterfoil.jobs, %(rows)s::jsonb) r
 WHERE j.stream_id = r.stream_id
   AND j.stream_id = ANY(%(ids)b::uuid[])
"""

FREE_KEYS: Final = """
DELETE FROM counterfoil.running_keys WHERE job_id = ANY(%(ids)b::uuid[])
"""

DELETE: Final = """
DELETE FROM counterfoil.jobs WHERE stream_id = ANY(%(ids)b::uuid[])
"""

# Two steps of one statement: `BURY` inserts what `DIE` took out.
DIE: Final = """
DELETE FROM counterfoil.jobs j
 USING jsonb_populate_recordset(NULL::counterfoil.jobs_dead, %(rows)s::jsonb) r
 WHERE j.stream_id = r.stream_id
   AND j.stream_id = ANY(%(ids)b::uuid[])
RETURNING j.args, j.correlation_id, r.stream_id, r.tenant_id, r.version, r.state,
          r.kind, r.queue, r.priority, r.run_at, r.attempt, r.parkings,
          r.max_attempts, r.unique_key, r.serial_key, r.serial_order, r.deadline,
          r.code, r.error_code, r.crashes, r.is_suspect, r.concurrency_limit
"""

BURY: Final = """
INSERT INTO counterfoil.jobs_dead (
    args, correlation_id, stream_id, tenant_id, version, state, kind, queue, priority,
    run_at, attempt, parkings, max_attempts, unique_key, serial_key, serial_order,
    deadline, code, error_code, crashes, is_suspect, concurrency_limit)
SELECT * FROM jobs_died
"""

EXHUME: Final = """
DELETE FROM counterfoil.jobs_dead WHERE stream_id = %(id)s
RETURNING args::text, correlation_id
"""


def head_of(row: Row) -> tuple[UUID, Head]:
    """Return the head of one row of `JOBS.read` or `READ_DEAD`."""
    cause = maybe_text(row[14])
    token = row[17]
    state = Job(
        version=number(row[3]),
        stage=Stage(text(row[4])),
        kind=text(row[5]),
        queue=text(row[6]),
        priority=number(row[7]),
        unique_key=maybe_text(row[8]),
        serial_key=maybe_text(row[9]),
        serial_order=number(row[10]),
        run_at=instant(row[11]),
        max_attempts=None if row[12] is None else number(row[12]),
        deadline=maybe_instant(row[13]),
        cause=None if cause is None else Cause(cause),
        attempt=number(row[15]),
        parkings=number(row[16]),
        token=None if token is None else number(token),
        owner=_owner(row),
        cancel_requested=bool(row[21]),
        code=maybe_text(row[22]),
        error_code=maybe_text(row[23]),
        crashes=number(row[25]),
        is_suspect=bool(row[26]),
        gate=maybe_text(row[27]),
        concurrency_limit=number(row[28]),
    )
    head = Head(
        tenant_id=text(row[1]),
        state=state,
        correlation_id=text(row[2]),
        lease_until=maybe_instant(row[24]),
    )
    return uuid(row[0]), head


def _owner(row: Row) -> Owner | None:
    if row[20] is None:
        return None
    return Owner(host=text(row[18]), pid=number(row[19]), boot=uuid(row[20]))


def columns_of(change: Change, meta: Meta) -> Columns:
    """Return a job's row; a birth brings its arguments from the event."""
    columns = folded(change.state)
    del columns["owner"]
    owner = change.state.owner if isinstance(change.state, Job) else None
    first = change.events[0]
    return columns | {
        "stream_id": change.ref.id,
        "tenant_id": change.tenant_id,
        "correlation_id": meta.correlation_id,
        "owner_host": None if owner is None else owner.host,
        "owner_pid": None if owner is None else owner.pid,
        "owner_boot": None if owner is None else owner.boot,
        "args": first.args if isinstance(first, Enqueued) else None,
    }


JOBS: Final = HeadTable(
    name="jobs",
    read=_READ,
    width=29,
    insert=_INSERT,
    update=_UPDATE,
    head=head_of,
    columns=columns_of,
)
