"""Whatever a log holds, in whatever batches it is read: rows are what the book says."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

import msgspec
import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from domain.event import Actor, Event, Meta
from domain.fulfillment.events import Failed, Retried
from infrastructure.ids import new_id
from projections.read_models.all import BY_NAME
from tests.fixtures.database import TestDatabase
from tests.fixtures.read_models import assert_read_model_holds, project
from tests.projections.records import histories
from tests.projections.records.histories import LEASED, any_order, metas

pytestmark = pytest.mark.database

RECORDS: Final = [
    BY_NAME[name]
    for name in (
        "operations",
        "orders",
        "deliveries",
        "entitlements",
        "drifts",
        "audit",
    )
]

APPEND: Final = """
INSERT INTO counterfoil.events
       (tenant_id, stream_id, version, type, schema, data, meta)
VALUES ('default', %s, %s, %s, %s, %s, %s)
"""


class Written(NamedTuple):
    """One event of one of the streams."""

    stream: int
    event: Event
    meta: Meta


@st.composite
def logs(draw: st.DrawFn) -> list[Written]:
    """A few streams of any kind, their events among each other's."""
    one = st.one_of(
        st.tuples(histories.operation_births, any_order(histories.operation_lives)),
        st.tuples(histories.order_births, histories.order_lives),
        st.tuples(histories.owed, any_order(histories.goods_lives)),
        st.tuples(histories.entitlement_births, any_order(histories.entitlement_lives)),
    )
    streams = [
        admitted([birth, *life])
        for birth, life in draw(st.lists(one, min_size=1, max_size=4))
    ]
    turns = [n for n, events in enumerate(streams) for _ in events]
    return [
        written(n, streams[n].pop(0), draw(metas)) for n in draw(st.permutations(turns))
    ]


def written(stream: int, event: Event, meta: Meta) -> Written:
    """Return an event of whoever can have written it."""
    if event.tag in LEASED:
        meta = replace(meta, actor=Actor("worker", "host:1"))
    return Written(stream, event, meta)


def admitted(events: list[Event]) -> list[Event]:
    """Return what the log takes: it refuses to revive what has not failed."""
    return [
        event
        for before, event in zip([None, *events], events, strict=False)
        if not isinstance(event, Retried) or isinstance(before, Failed)
    ]


def write(connection: psycopg.Connection[Any], log: list[Written]) -> None:
    ids: dict[int, tuple[Any, int]] = {}
    for stream, event, meta in log:
        stream_id, version = ids.get(stream, (new_id(), 0))
        ids[stream] = stream_id, version + 1
        connection.execute(
            APPEND,
            (
                stream_id,
                version + 1,
                event.tag,
                event.schema,
                msgspec.json.encode(event).decode(),
                msgspec.json.encode(meta).decode(),
            ),
        )


@pytest.fixture
def connection(database: TestDatabase) -> psycopg.Connection[Any]:
    return database.connect()


class Alone:
    """Lends one connection, over and over: a pool's threads would throw dice of their
    own, and hypothesis wants all of them."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection

    @contextmanager
    def connection(self) -> Iterator[psycopg.Connection[Any]]:
        yield self._connection


@settings(
    max_examples=8,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(log=logs(), most=st.integers(1, 9))
def test_any_log_in_any_batches(
    log: list[Written], most: int, connection: psycopg.Connection[Any]
) -> None:
    """I7: every example goes on where the last one ended."""
    write(connection, log)

    project(Alone(connection), RECORDS, most=most)

    for projection in RECORDS:
        assert_read_model_holds(connection, projection)
