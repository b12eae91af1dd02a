"""Write what groups decided: heads, events and outbox records of one transaction.

Everything here runs inside the caller's transaction and lets the driver's errors
pass; `infrastructure.postgres.batch_store` decides what they mean.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, LiteralString
from uuid import UUID

import msgspec

from application.unit import Group
from domain.event import Meta
from domain.jobs.aggregate import Job, Stage
from domain.jobs.events import Retried
from domain.outbox import outbox_data
from domain.stream import Change, StreamKind
from infrastructure.errors import InfrastructureError
from infrastructure.ids import new_id
from infrastructure.postgres.codec import encode
from infrastructure.postgres.database import Connection
from infrastructure.postgres.heads import jobs as job_heads
from infrastructure.postgres.heads.entitlements import ENTITLEMENTS
from infrastructure.postgres.heads.jobs import JOBS
from infrastructure.postgres.heads.operations import OPERATIONS
from infrastructure.postgres.heads.orders import ORDERS
from infrastructure.postgres.heads.table import (
    Columns,
    HeadTable,
    number,
    rows_as_json,
    uuid,
)

TABLES: Final[dict[StreamKind, HeadTable]] = {
    StreamKind.ORDER: ORDERS,
    StreamKind.ENTITLEMENT: ENTITLEMENTS,
    StreamKind.OPERATION: OPERATIONS,
    StreamKind.JOB: JOBS,
}

# ORDER BY n: a plain join would be hashed from about 1,000 rows on, and then half of
# the streams got version 2 before version 1 (mechanisms 3).
_APPEND: Final = """
WITH appended AS (
    INSERT INTO counterfoil.events
           (tenant_id, stream_id, version, type, schema, data, meta)
    SELECT e.tenant_id, e.stream_id, e.version, e.type, e.schema,
           e.data::jsonb, e.meta::jsonb
      FROM unnest(%(tenants)b::text[], %(streams)b::uuid[], %(versions)b::int[],
                  %(types)b::text[], %(schemas)b::smallint[], %(data)b::text[],
                  %(metas)b::text[])
           WITH ORDINALITY
           AS e(tenant_id, stream_id, version, type, schema, data, meta, n)
     ORDER BY e.n
    RETURNING position, tenant_id, stream_id, version, type
), told AS (
    INSERT INTO counterfoil.outbox
           (id, position, tenant_id, topic, stream_id, version, data)
    SELECT o.id, a.position, a.tenant_id, a.type, a.stream_id, a.version,
           o.data::jsonb
      FROM unnest(%(message_ids)b::uuid[], %(message_streams)b::uuid[],
                  %(message_versions)b::int[], %(messages)b::text[])
           AS o(id, stream_id, version, data)
      JOIN appended a ON a.stream_id = o.stream_id AND a.version = o.version
)
SELECT stream_id, max(position) FROM appended GROUP BY stream_id
"""


class HeadMissedError(InfrastructureError):
    """A head that should be changed is not there: it ended, or never was."""

    code = "conflict"


class UnencodableError(InfrastructureError):
    """Something that should be stored cannot be written as JSON."""

    code = "unstorable_result"


@dataclass(frozen=True, slots=True)
class HeadStatement:
    """One write of heads, and how many rows it must meet; None: any number."""

    statement: LiteralString
    parameters: dict[str, object]
    rows: int | None


@dataclass(slots=True)
class Batch:
    """Columns of events and messages, and rows of heads, of the groups in a batch."""

    tenants: list[str] = field(default_factory=list[str])
    streams: list[UUID] = field(default_factory=list[UUID])
    versions: list[int] = field(default_factory=list[int])
    types: list[str] = field(default_factory=list[str])
    schemas: list[int] = field(default_factory=list[int])
    data: list[str] = field(default_factory=list[str])
    metas: list[str] = field(default_factory=list[str])
    message_ids: list[UUID] = field(default_factory=list[UUID])
    message_streams: list[UUID] = field(default_factory=list[UUID])
    message_versions: list[int] = field(default_factory=list[int])
    messages: list[str] = field(default_factory=list[str])
    statements: list[HeadStatement] = field(default_factory=list[HeadStatement])

    def append(self, change: Change, meta_text: str) -> None:
        """Add the events of one change and the messages that tell about them."""
        for offset, event in enumerate(change.events, 1):
            version = change.expected + offset
            self.tenants.append(change.tenant_id)
            self.streams.append(change.ref.id)
            self.versions.append(version)
            self.types.append(event.tag)
            self.schemas.append(event.schema)
            self.data.append(encode(event))
            self.metas.append(meta_text)
            message = outbox_data(event, change.state, change.ref.id)
            if message is not None:
                self.message_ids.append(new_id())
                self.message_streams.append(change.ref.id)
                self.message_versions.append(version)
                self.messages.append(msgspec.json.encode(message).decode())


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
    stamped = [
        (change, msgspec.structs.replace(group.meta, commit_id=commit_id))
        for group, changes in decided
        for change in changes
        if change.events  # none: the locked head knows it all already
    ]
    try:
        batch = _batch(stamped)
    except _NO_JSON as error:
        raise UnencodableError(type(error).__name__) from error
    exhumed = [each for each in stamped if _is_retry(each[0])]
    cursors = [
        (connection.execute(each.statement, each.parameters), each.rows)
        for each in batch.statements
    ]
    appended = connection.execute(_APPEND, _columns(batch))
    if any(rows not in {None, cursor.rowcount} for cursor, rows in cursors):
        raise HeadMissedError
    positions = {uuid(row[0]): number(row[1]) for row in appended.fetchall()}
    for change, meta in exhumed:
        _bring_back(connection, change, meta)
    return positions


_NO_JSON = (UnicodeEncodeError, TypeError, OverflowError, RecursionError)
"""What the encoder raises: a lone surrogate, a foreign type, too large, too deep."""


def _batch(stamped: "Sequence[Stamped]") -> Batch:
    batch = Batch()
    for change, meta in stamped:
        batch.append(change, encode(meta))
    for kind in TABLES:
        _heads(batch, kind, [each for each in stamped if each[0].ref.kind is kind])
    return batch


def _columns(batch: Batch) -> dict[str, object]:
    return {
        name: getattr(batch, name) for name in Batch.__slots__ if name != "statements"
    }


type Stamped = tuple[Change, Meta]


def _heads(batch: Batch, kind: StreamKind, stamped: Sequence[Stamped]) -> None:
    if not stamped:
        return
    table = TABLES[kind]
    born = [each for each in stamped if each[0].expected == 0]
    later = [each for each in stamped if each[0].expected > 0]
    if kind is StreamKind.JOB:
        later = _job_heads(batch, later)
    if born:
        batch.statements.append(_statement(table, table.insert, born))
    if later:
        batch.statements.append(_statement(table, table.update, later))


def _statement(
    table: HeadTable, statement: LiteralString, stamped: Sequence[Stamped]
) -> HeadStatement:
    rows: list[Columns] = [table.columns(change, meta) for change, meta in stamped]
    return HeadStatement(statement, {"rows": rows_as_json(rows)}, len(rows))


def _job_heads(batch: Batch, stamped: Sequence[Stamped]) -> list[Stamped]:
    """Queue what ends or frees jobs, and return those that stay where they are."""
    left = [each for each in stamped if not _is_retry(each[0])]
    staying = [each for each in left if _stage(each[0]) in _UNFINISHED]
    freed = [change.ref.id for change, _ in left if _stage(change) is not Stage.RUNNING]
    done = [change.ref.id for change, _ in left if _stage(change) is Stage.SUCCEEDED]
    dead = [each for each in left if _stage(each[0]) in _DEAD]
    if freed:
        free = HeadStatement(job_heads.FREE_KEYS, {"ids": freed}, None)
        batch.statements.append(free)
    if done:
        delete = HeadStatement(job_heads.DELETE, {"ids": done}, len(done))
        batch.statements.append(delete)
    if dead:
        batch.statements.append(_statement(JOBS, job_heads.BURY, dead))
    return staying


_UNFINISHED = frozenset({Stage.WAITING, Stage.RUNNING})
_DEAD = frozenset({Stage.DISCARDED, Stage.CANCELLED})


def _stage(change: Change) -> Stage:
    return change.state.stage if isinstance(change.state, Job) else Stage.UNBORN


def _is_retry(change: Change) -> bool:
    return any(isinstance(event, Retried) for event in change.events)


def _bring_back(connection: Connection, change: Change, meta: Meta) -> None:
    """Move a dead job into `jobs`; its two triggers admit no other way (I6)."""
    row = connection.execute(job_heads.EXHUME, {"id": change.ref.id}).fetchone()
    if row is None:
        raise HeadMissedError  # somebody else has revived it
    columns = JOBS.columns(change, meta)
    columns["args"] = msgspec.Raw(str(row[0]).encode())
    columns["correlation_id"] = row[1]
    connection.execute(JOBS.insert, {"rows": rows_as_json([columns])})
