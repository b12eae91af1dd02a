"""Mechanisms 3: one call writes every stream in order, however large it is."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from application.unit import Group
from domain.entitlement.aggregate import evolve
from domain.entitlement.events import DesiredChanged, EntitlementEvent, Granted, Seen
from domain.entitlement.state import Entitlement
from domain.stream import Change, Ref, StreamKind
from infrastructure.ids import new_id
from infrastructure.log.appending import NewRow, append
from infrastructure.postgres.batch_store import BatchStore
from infrastructure.postgres.database import Database
from tests.fixtures.database import ON_BOTH_SERVERS, TestDatabase
from tests.golden.pinned import AT, DESIRED, OBSERVED
from tests.log.jobs import META, written

pytestmark = [pytest.mark.database, ON_BOTH_SERVERS]

STREAMS = 5_000

OUT_OF_ORDER = """
SELECT count(*)
  FROM (SELECT version,
               row_number() OVER (PARTITION BY stream_id ORDER BY position) AS n
          FROM counterfoil.events) e
 WHERE version <> n
"""


@pytest.fixture
def store(database: TestDatabase) -> Iterator[BatchStore]:
    with Database(database.conninfo, pool_size=1) as opened:
        yield BatchStore(opened)


def out_of_order(connection: psycopg.Connection[Any]) -> int:
    """Return how many events of the whole log are not at their stream's place."""
    (row,) = connection.execute(OUT_OF_ORDER).fetchall()
    return int(row[0])


def versions(connection: psycopg.Connection[Any]) -> Counter[int]:
    rows = connection.execute("SELECT version FROM counterfoil.events").fetchall()
    return Counter(version for (version,) in rows)


def granted(number: int) -> Change:
    """Return an entitlement born with three events."""
    events: tuple[EntitlementEvent, ...] = (
        Granted(
            customer_id=f"C-{number}",
            slot=1,
            username=f"user_{number}",
            legacy_username=None,
        ),
        DesiredChanged(desired_version=1, desired=DESIRED, paid_at=AT, order=new_id()),
        Seen(observed=OBSERVED),
    )
    state = Entitlement()
    for event in events:
        state = evolve(state, event)
    return Change(
        ref=Ref(StreamKind.ENTITLEMENT, new_id()),
        tenant_id="default",
        expected=0,
        events=events,
        state=state,
    )


def group_of(changes: tuple[Change, ...]) -> Group:
    refs = tuple(change.ref for change in changes)
    return Group(refs, lambda _locked, _now: changes, META)


@pytest.mark.parametrize("groups", [1, STREAMS])
def test_the_batch_store_writes_five_thousand_streams_in_order(
    groups: int, store: BatchStore, database: TestDatabase
) -> None:
    changes = tuple(granted(number) for number in range(STREAMS))
    each = STREAMS // groups

    results = store.commit(
        [group_of(changes[n * each : (n + 1) * each]) for n in range(groups)]
    )

    written(results)
    connection = database.connect()
    assert versions(connection) == {1: STREAMS, 2: STREAMS, 3: STREAMS}
    assert out_of_order(connection) == 0


def test_the_librarys_door_writes_five_thousand_streams_in_order(
    database: TestDatabase,
) -> None:
    connection = database.connect()
    rows = [
        NewRow("default", stream, version, "test.happened", 1, "{}", "{}")
        for stream in (new_id() for _ in range(STREAMS))
        for version in (1, 2, 3)
    ]

    positions = append(connection, rows)

    assert positions == list(range(1, 3 * STREAMS + 1))
    assert out_of_order(connection) == 0


def test_disorder_would_be_noticed(database: TestDatabase) -> None:
    connection = database.connect()
    stream = new_id()

    for version in (2, 1):
        append(
            connection,
            [NewRow("default", stream, version, "test.happened", 1, "{}", "{}")],
        )

    assert out_of_order(connection) == 2
