"""Mechanisms 7: batches in any order never deadlock; the store locks in one order."""

import random
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from application.unit import Group, Head, Result, Written
from domain.entitlement.events import DesiredChanged, Granted, Seen
from domain.event import Event
from domain.stream import Change, Ref, State, StreamKind
from infrastructure.ids import new_id
from infrastructure.postgres.batch_store import BatchStore
from infrastructure.postgres.database import Database
from tests.any_stream import evolve, unborn
from tests.fixtures.database import ON_BOTH_SERVERS, TestDatabase
from tests.golden.pinned import AT, DESIRED, OBSERVED
from tests.log.jobs import CLAIM, META, SNOOZE, births, job_refs, written

pytestmark = [pytest.mark.database, ON_BOTH_SERVERS]

WRITERS = 4
ROUNDS = 40
STREAMS = 12
DEADLINE_SECONDS = 60

MORE: dict[StreamKind, tuple[Event, ...]] = {
    StreamKind.ENTITLEMENT: (Seen(observed=OBSERVED),),
    StreamKind.JOB: (CLAIM, SNOOZE),
}

DEADLOCKS = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"

LOCK_BOTH = """
SELECT pg_advisory_xact_lock(%(key)s)
"""


def deadlocks(database: TestDatabase) -> int:
    (row,) = database.connect().execute(DEADLOCKS).fetchall()
    return int(row[0])


def events(database: TestDatabase) -> int:
    (row,) = (
        database.connect().execute("SELECT count(*) FROM counterfoil.events").fetchall()
    )
    return int(row[0])


def folded(state: State, events: Sequence[Event]) -> State:
    for event in events:
        state = evolve(state, event)
    return state


def granted() -> Change:
    events = (
        Granted(
            customer_id=str(new_id()),
            slot=1,
            username=str(new_id()),
            legacy_username=None,
        ),
        DesiredChanged(desired_version=1, desired=DESIRED, paid_at=AT, order=new_id()),
    )
    return Change(
        ref=Ref(StreamKind.ENTITLEMENT, new_id()),
        tenant_id="default",
        expected=0,
        events=events,
        state=folded(unborn(StreamKind.ENTITLEMENT), events),
    )


def continued(refs: Sequence[Ref]) -> Group:
    """Return one group that appends to streams of any kind, named in this order."""

    def changed(ref: Ref, head: Head) -> Change:
        return Change(
            ref=ref,
            tenant_id=head.tenant_id,
            expected=head.state.version,
            events=MORE[ref.kind],
            state=folded(head.state, MORE[ref.kind]),
        )

    return Group(
        tuple(refs),
        lambda locked, _now: tuple(changed(ref, locked[ref]) for ref in refs),
        META,
    )


@pytest.fixture
def streams(database: TestDatabase) -> list[Ref]:
    """Entitlements and jobs that all writers fight for."""
    jobs = job_refs(STREAMS // 2)
    changes = tuple(granted() for _ in range(STREAMS // 2))
    entitlements = tuple(change.ref for change in changes)
    with Database(database.conninfo, pool_size=1) as opened:
        store = BatchStore(opened)
        written(store.commit([births(jobs)]))
        written(
            store.commit(
                [Group(tuple(entitlements), lambda _locked, _now: changes, META)]
            )
        )
    return [*jobs, *entitlements]


def test_batches_over_the_same_streams_in_any_order_never_deadlock(
    streams: list[Ref], database: TestDatabase
) -> None:
    born = events(database)
    start = threading.Barrier(WRITERS)

    def write(seed: int) -> list[Result]:
        dice = random.Random(seed)  # noqa: S311 - a schedule, no secret
        results: list[Result] = []
        with Database(database.conninfo, pool_size=1) as opened:
            store = BatchStore(opened)
            start.wait(DEADLINE_SECONDS)
            for _ in range(ROUNDS):
                mine = dice.sample(streams, STREAMS // 2)
                results += store.commit([continued(mine[:3]), continued(mine[3:])])
        return results

    with ThreadPoolExecutor(WRITERS) as pool:
        runs = list(pool.map(write, range(WRITERS)))

    ended = [each for results in runs for each in results]
    assert [type(each) for each in ended] == [Written] * (2 * ROUNDS * WRITERS)
    assert deadlocks(database) == 0
    appended = sum(
        len(change.events)
        for each in ended
        if isinstance(each, Written)
        for change in each.changes
    )
    assert events(database) == born + appended


def test_locks_in_two_orders_would_deadlock_and_be_counted(
    database: TestDatabase,
) -> None:
    """The control: what the store's order prevents, and that the figure shows it."""
    holding = threading.Barrier(2)

    def lock(first: int, second: int) -> str | None:
        connection = database.connect()
        connection.execute("SET deadlock_timeout = '10ms'")
        try:
            with connection.transaction():
                connection.execute(LOCK_BOTH, {"key": first})
                holding.wait(DEADLINE_SECONDS)
                connection.execute(LOCK_BOTH, {"key": second})
        except psycopg.errors.DeadlockDetected as error:
            return error.sqlstate
        finally:
            connection.close()
        return None

    with ThreadPoolExecutor(2) as pool:
        ends = list(pool.map(lock, (1, 2), (2, 1)))

    assert "40P01" in ends
    assert deadlocks(database) == ends.count("40P01")
