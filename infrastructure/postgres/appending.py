"""Write what groups decided: heads, events and outbox records of one transaction.

Everything here runs inside the caller's transaction and lets the driver's errors
pass; `infrastructure.postgres.batch_store` decides what they mean.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple, cast
from uuid import UUID

import msgspec

from application.unit import Group
from domain.event import Meta
from domain.jobs.aggregate import Job, Stage
from domain.jobs.events import Retried
from domain.stream import Change, StreamKind
from infrastructure.errors import InfrastructureError
from infrastructure.postgres.batch import Batch, HeadStep, statement
from infrastructure.postgres.codec import encoded
from infrastructure.postgres.database import Connection
from infrastructure.postgres.heads import jobs as job_heads
from infrastructure.postgres.heads.jobs import JOBS
from infrastructure.postgres.heads.table import Columns, rows_as_json
from infrastructure.postgres.locking import TABLES


class HeadMissedError(InfrastructureError):
    """A head that should be changed is not there: it ended, or never was."""

    code = "conflict"


class UnencodableError(InfrastructureError):
    """Something that should be stored cannot be written as JSON."""

    code = "unstorable_result"


type Decided = tuple[Group, tuple[Change, ...]]


def write(
    connection: Connection, decided: Sequence[Decided], commit_id: UUID
) -> dict[UUID, int]:
    """Return the position of every changed stream's last event, all written.

    Raises:
        psycopg.Error: PostgreSQL refused something; the transaction is lost.
        UnencodableError: something is no JSON, or a text holds a lone surrogate.
        HeadMissedError: a stream's head is not where the change expects it.
    """
    try:
        stamped = _stamped(decided, commit_id)
        batch = _batch(stamped)
        parameters = batch.parameters()
    except _NO_JSON as error:
        raise UnencodableError(type(error).__name__) from error
    whole = statement(tuple(batch.steps), tells=batch.tells)
    rows = connection.execute(whole, parameters, prepare=True).fetchall()
    *met, positions = rows[0]
    if met != batch.rows:
        raise HeadMissedError
    for each in stamped:
        if _is_retry(each.change):
            _bring_back(connection, each)
    return _last_positions(stamped, cast("list[int]", positions))


class _Stamped(NamedTuple):
    change: Change
    meta: Meta
    text: bytes
    """The meta data as it is stored."""


def _stamped(decided: Sequence[Decided], commit_id: UUID) -> list[_Stamped]:
    stamped: list[_Stamped] = []
    for group, changes in decided:
        meta = msgspec.structs.replace(group.meta, commit_id=commit_id)
        text = encoded(meta)
        # No events: the locked head knows it all already.
        stamped += [_Stamped(each, meta, text) for each in changes if each.events]
    return stamped


_NO_JSON = (UnicodeEncodeError, TypeError, OverflowError, RecursionError)
"""What the encoder raises: a lone surrogate, a foreign type, too large, too deep."""


def _last_positions(
    stamped: Sequence[_Stamped], positions: Sequence[int]
) -> dict[UUID, int]:
    last: dict[UUID, int] = {}
    n = 0
    for each in stamped:
        n += len(each.change.events)
        last[each.change.ref.id] = positions[n - 1]
    return last


_BORN: Final = {
    kind: HeadStep(f"{table.name}_born", table.insert) for kind, table in TABLES.items()
}
_KEPT: Final = {
    kind: HeadStep(f"{table.name}_kept", table.update) for kind, table in TABLES.items()
}
_FREED: Final = HeadStep("keys_freed", job_heads.FREE_KEYS, is_counted=False)
_DONE: Final = HeadStep("jobs_done", job_heads.DELETE)
_DIED: Final = HeadStep("jobs_died", job_heads.DIE)
_BURIED: Final = HeadStep("jobs_buried", job_heads.BURY, is_counted=False)


def _batch(stamped: Sequence[_Stamped]) -> Batch:
    batch = Batch()
    by_kind: dict[StreamKind, list[_Stamped]] = {}
    for each in stamped:
        batch.append(each.change, each.text)
        by_kind.setdefault(each.change.ref.kind, []).append(each)
    for kind in TABLES:
        if kind in by_kind:
            _heads(batch, kind, by_kind[kind])
    return batch


def _heads(batch: Batch, kind: StreamKind, stamped: Sequence[_Stamped]) -> None:
    born = [each for each in stamped if each.change.expected == 0]
    later = [each for each in stamped if each.change.expected > 0]
    if kind is StreamKind.JOB:
        later = _job_heads(batch, later)
    if born:
        batch.write_heads(_BORN[kind], _rows(kind, born))
    if later:
        batch.write_heads(_KEPT[kind], _rows(kind, later))


def _rows(kind: StreamKind, stamped: Sequence[_Stamped]) -> list[Columns]:
    return [TABLES[kind].columns(each.change, each.meta) for each in stamped]


def _job_heads(batch: Batch, stamped: Sequence[_Stamped]) -> list[_Stamped]:
    """Add what ends or frees jobs, and return those that stay where they are."""
    staying: list[_Stamped] = []
    dead: list[_Stamped] = []
    freed: list[UUID] = []
    done: list[UUID] = []
    for each in stamped:
        if _is_retry(each.change):
            continue
        id_, stage = each.change.ref.id, _stage(each.change)
        if stage is not Stage.RUNNING:
            freed.append(id_)
        if stage is Stage.SUCCEEDED:
            done.append(id_)
        elif stage in _DEAD:
            dead.append(each)
        elif stage in _UNFINISHED:
            staying.append(each)
    if freed:
        batch.remove_heads(_FREED, freed)
    if done:
        batch.remove_heads(_DONE, done)
    if dead:
        batch.write_heads(_DIED, _rows(StreamKind.JOB, dead))
        batch.steps.append(_BURIED)
    return staying


_UNFINISHED = frozenset({Stage.WAITING, Stage.RUNNING})
_DEAD = frozenset({Stage.DISCARDED, Stage.CANCELLED})


def _stage(change: Change) -> Stage:
    return change.state.stage if isinstance(change.state, Job) else Stage.UNBORN


def _is_retry(change: Change) -> bool:
    return any(isinstance(event, Retried) for event in change.events)


def brings_to_life(change: Change) -> bool:
    """Whether a job is pending after the change that was not before it."""
    is_birth = change.ref.kind is StreamKind.JOB and change.expected == 0
    return is_birth or _is_retry(change)


def _bring_back(connection: Connection, stamped: _Stamped) -> None:
    """Move a dead job into `jobs`; its two triggers admit no other way (I6)."""
    row = connection.execute(job_heads.EXHUME, {"id": stamped.change.ref.id}).fetchone()
    if row is None:
        raise HeadMissedError  # somebody else has revived it
    columns = JOBS.columns(stamped.change, stamped.meta)
    columns["args"] = msgspec.Raw(str(row[0]).encode())
    columns["correlation_id"] = row[1]
    connection.execute(JOBS.insert, {"rows": rows_as_json([columns])})
