"""What the front door wrote, and what the rules say it should have written."""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any, LiteralString, NamedTuple
from uuid import UUID

import msgspec
import psycopg
from psycopg import sql
from psycopg.rows import tuple_row

from domain.event import Actor, Causation, Event, JsonObject, Meta
from domain.jobs import aggregate as jobs
from domain.order import aggregate as order
from domain.order.request import SettleRequest
from domain.outbox import outbox_data
from domain.stream import Change, Ref, State, StreamKind
from infrastructure.postgres import codec
from infrastructure.postgres.heads.jobs import JOBS
from infrastructure.postgres.heads.orders import ORDERS
from infrastructure.postgres.heads.table import rows_as_json
from tests import any_stream

type Connection = psycopg.Connection[Any]
type Rows = list[dict[str, Any]]

TABLES = ("events", "outbox", "external_keys", "orders", "jobs", "jobs_dead")


class Birth(NamedTuple):
    """One stream as the deciders bear it."""

    kind: StreamKind
    stream_id: UUID
    tenant_id: str
    state: State
    events: Sequence[Event]
    meta: Meta


def born_order(request: SettleRequest, stream_id: UUID, meta: Meta) -> Birth:
    """Return the order that `decide` bears for `request`."""
    events = order.decide(order.Order(), order.Settle(request))
    state = order.Order()
    for event in events:
        state = order.evolve(state, event)
    return Birth(StreamKind.ORDER, stream_id, request.tenant, state, events, meta)


def born_job(command: jobs.Enqueue, stream_id: UUID, tenant: str, meta: Meta) -> Birth:
    """Return the job that `decide` bears for `command`."""
    events = jobs.decide(jobs.Job(), command)
    return Birth(StreamKind.JOB, stream_id, tenant, jobs.fold(events), events, meta)


def meta_of(connection: Connection, correlation: str, commit_id: str) -> Meta:
    (user,) = one(connection, "SELECT session_user::text")
    return Meta(
        actor=Actor("shop", user),
        correlation_id=correlation,
        commit_id=UUID(commit_id),
    )


def caused_by(meta: Meta, position: int) -> Meta:
    return msgspec.structs.replace(meta, causation=Causation(event=position))


def one(
    connection: Connection, query: LiteralString | sql.Composed, *values: object
) -> tuple[Any, ...]:
    """Return the first row that `query` gives."""
    with connection.cursor(row_factory=tuple_row) as cursor:
        row = cursor.execute(query, values).fetchone()
    assert row is not None
    return row


STORED = sql.SQL("SELECT to_jsonb(t) FROM counterfoil.{} t ORDER BY {}")


def stored(connection: Connection, table: str) -> Rows:
    """Return all rows of a table as JSON sees them, in the order of their birth."""
    key = "position" if table in {"events", "outbox"} else "tenant_id"
    query = STORED.format(sql.Identifier(table), sql.Identifier(key))
    with connection.cursor(row_factory=tuple_row) as cursor:
        return [row for (row,) in cursor.execute(query)]


def counted(connection: Connection) -> dict[str, int]:
    """Return how many rows each table of the front door holds."""
    return {table: len(stored(connection, table)) for table in TABLES}


POPULATED = sql.SQL(
    "SELECT to_jsonb(jsonb_populate_record(NULL::counterfoil.{}, %s::jsonb))"
)


def head_of(connection: Connection, birth: Birth) -> dict[str, Any]:
    """Return the head that the batch store would write for `birth`."""
    change = Change(
        ref=Ref(birth.kind, birth.stream_id),
        tenant_id=birth.tenant_id,
        expected=0,
        events=tuple(birth.events),
        state=birth.state,
    )
    table = ORDERS if birth.kind is StreamKind.ORDER else JOBS
    name = "orders" if birth.kind is StreamKind.ORDER else "jobs"
    (row,) = one(
        connection,
        POPULATED.format(sql.Identifier(name)),
        rows_as_json([table.columns(change, birth.meta)])[1:-1],
    )
    # A job that stands alone is in no line; the store leaves that to the database.
    return dict(row) | ({"in_line": False} if table is JOBS else {})


def events_of(birth: Birth) -> list[tuple[str, int, str, int, JsonObject, JsonObject]]:
    """Return stream, version, tag, schema, data and meta of every event."""
    return [
        (
            str(birth.stream_id),
            version,
            event.tag,
            event.schema,
            json.loads(codec.encode(event)),
            json.loads(codec.encode(birth.meta)),
        )
        for version, event in enumerate(birth.events, start=1)
    ]


def messages_of(birth: Birth) -> list[tuple[str, str, int, JsonObject]]:
    """Return stream, topic, version and data of every message."""
    return [
        (str(birth.stream_id), event.tag, version, data)
        for version, event in enumerate(birth.events, start=1)
        if (data := outbox_data(event, birth.state, birth.stream_id)) is not None
    ]


def events_in(rows: Rows) -> list[tuple[Any, ...]]:
    names = ("stream_id", "version", "type", "schema", "data", "meta")
    return [tuple(row[name] for name in names) for row in rows]


def messages_in(rows: Rows) -> list[tuple[Any, ...]]:
    return [
        (row["stream_id"], row["topic"], row["version"], row["data"]) for row in rows
    ]


def folded(connection: Connection, kind: StreamKind, stream_id: str) -> State:
    """Return the fold of a stream, from what is stored."""
    state = any_stream.unborn(kind)
    for row in stored(connection, "events"):
        if row["stream_id"] == stream_id:
            event = codec.decode_event(
                row["type"], row["schema"], json.dumps(row["data"])
            )
            state = any_stream.evolve(state, event)
    return state


def instant(text: str) -> datetime:
    return datetime.fromisoformat(text)
