"""I7, batch by batch: rows and checkpoint move together, once, up to the horizon."""

from collections.abc import Iterator
from uuid import UUID

import pytest

from infrastructure.postgres.batch_store import BatchStore
from infrastructure.postgres.database import Database
from infrastructure.projecting.advanced import State
from infrastructure.projecting.projector import Projector
from projections.read_models.jobs import Jobs
from tests.fixtures.database import ON_BOTH_SERVERS, TestDatabase
from tests.fixtures.read_models import (
    assert_read_model_holds,
    position_of,
    project,
    rows_of,
)
from tests.log.jobs import (
    CLAIM,
    DEATH,
    SNOOZE,
    SUCCESS,
    appending,
    births,
    job_refs,
    written,
)
from tests.log.plain import append
from tests.projecting.mishaps import Mishaps

pytestmark = [pytest.mark.database, ON_BOTH_SERVERS]

JOBS = Jobs()


@pytest.fixture
def opened(database: TestDatabase) -> Iterator[Database]:
    with Database(database.conninfo, pool_size=4) as opened:
        yield opened


@pytest.fixture
def store(opened: Database) -> BatchStore:
    return BatchStore(opened)


@pytest.fixture
def projector(opened: Database) -> Projector:
    return Projector(opened)


def states(database: TestDatabase, slot: str = "a") -> dict[UUID, str]:
    rows = rows_of(database.connect(), JOBS, slot)
    return {row["stream_id"]: row["state"] for row in rows.values()}  # type: ignore[misc]


def test_a_batch_ends_where_it_was_told(
    projector: Projector, store: BatchStore, database: TestDatabase
) -> None:
    refs = job_refs(5)
    written(store.commit([births(refs)]))

    first = projector.advance(JOBS, most=2)
    second = projector.advance(JOBS, until=3)
    third = projector.advance(JOBS)
    nothing = projector.advance(JOBS)

    assert [each.state for each in (first, second, third, nothing)] == [
        State.ADVANCED,
        State.ADVANCED,
        State.ADVANCED,
        State.UP_TO_DATE,
    ]
    assert [first.position, second.position, third.position] == [2, 3, 5]
    assert (third.before, third.events, third.rows, third.horizon) == (3, 2, 2, 5)
    assert set(states(database)) == {ref.id for ref in refs}
    assert_read_model_holds(database.connect(), JOBS)


def test_a_row_follows_its_stream_through_batches(
    projector: Projector, store: BatchStore, database: TestDatabase
) -> None:
    done, dead, waiting = refs = job_refs(3)
    written(store.commit([births(refs)]))
    projector.advance(JOBS)
    written(store.commit([appending(refs, CLAIM)]))
    projector.advance(JOBS)
    written(store.commit([appending([done], SUCCESS), appending([dead], DEATH)]))
    written(store.commit([appending([waiting], SNOOZE)]))

    projector.advance(JOBS)

    assert states(database) == {
        done.id: "succeeded",
        dead.id: "discarded",
        waiting.id: "waiting",
    }
    assert_read_model_holds(database.connect(), JOBS)


def test_nothing_is_projected_past_an_open_transaction(
    projector: Projector, store: BatchStore, database: TestDatabase
) -> None:
    slow = database.connect()
    written(store.commit([births(job_refs(1))]))
    with slow.transaction(force_rollback=True):
        append(slow)
        written(store.commit([births(job_refs(2))]))

        before = projector.advance(JOBS)
        held = projector.advance(JOBS)

    after = projector.advance(JOBS)
    assert (before.position, held.state, after.position) == (1, State.UP_TO_DATE, 4)
    assert_read_model_holds(database.connect(), JOBS)


def test_the_checkpoint_moves_past_what_is_of_no_concern(
    projector: Projector, database: TestDatabase
) -> None:
    append(database.connect())

    told = projector.advance(JOBS)

    assert (told.state, told.position, told.events) == (State.ADVANCED, 1, 0)
    assert position_of(database.connect(), JOBS, "a") == 1


def test_two_processes_take_turns_without_doing_anything_twice(
    opened: Database, store: BatchStore, database: TestDatabase
) -> None:
    one, other = Projector(opened), Projector(opened)
    written(store.commit([births(job_refs(6))]))
    one.advance(JOBS, most=2)
    other.advance(JOBS, most=2)

    late = one.advance(JOBS, most=2)
    again = one.advance(JOBS, most=2)

    assert (late.state, again.position) == (State.OVERTAKEN, 6)
    assert_read_model_holds(database.connect(), JOBS)


def test_a_paused_projection_stands_still(
    projector: Projector, store: BatchStore, database: TestDatabase
) -> None:
    connection = database.connect()
    written(store.commit([births(job_refs(2))]))
    projector.advance(JOBS, most=1)
    connection.execute(
        """
        UPDATE counterfoil.projections
           SET paused_at = counterfoil.now(), paused_by = 'olga', paused_reason = 'r'
        """
    )

    held = projector.advance(JOBS)
    connection.execute(
        """
        UPDATE counterfoil.projections
           SET paused_at = NULL, paused_by = NULL, paused_reason = NULL
        """
    )
    freed = projector.advance(JOBS)

    assert (held.state, held.position) == (State.PAUSED, 1)
    assert (freed.state, freed.position) == (State.ADVANCED, 2)


def test_rows_of_other_code_are_left_alone(
    projector: Projector, store: BatchStore, database: TestDatabase
) -> None:
    written(store.commit([births(job_refs(1))]))
    database.connect().execute("UPDATE counterfoil.projections SET schema = 7")

    assert projector.advance(JOBS).state is State.OUTDATED
    assert states(database) == {}


def test_a_build_goes_on_in_the_spare_slot_alone(
    projector: Projector, store: BatchStore, database: TestDatabase
) -> None:
    connection = database.connect()
    written(store.commit([births(job_refs(3))]))
    projector.advance(JOBS, most=1)

    unasked = projector.advance(JOBS, slot="b")
    connection.execute(
        """
        UPDATE counterfoil.projections
           SET build = 'rebuild', build_schema = 3, build_began_at = counterfoil.now()
        """
    )
    live = projector.advance(JOBS, slot="a")
    built = projector.advance(JOBS, slot="b", until=2)
    followed = projector.advance(JOBS, most=1)

    assert (unasked.state, live.state) == (State.MOVED, State.MOVED)
    assert (built.state, built.position) == (State.ADVANCED, 2)
    assert followed.position == 2
    assert_read_model_holds(connection, JOBS, "a")
    assert_read_model_holds(connection, JOBS, "b")


def test_a_follower_notices_a_swap(
    projector: Projector, store: BatchStore, database: TestDatabase
) -> None:
    connection = database.connect()
    written(store.commit([births(job_refs(2))]))
    projector.advance(JOBS, most=1)
    connection.execute("UPDATE counterfoil.projections SET live = 'b'")

    first = projector.advance(JOBS)
    second = projector.advance(JOBS)

    assert (first.state, second.state) == (State.MOVED, State.ADVANCED)
    assert (second.slot, second.before, second.position) == ("b", 0, 2)
    assert_read_model_holds(connection, JOBS)


def test_a_projection_that_the_database_does_not_know_is_told(
    projector: Projector, database: TestDatabase
) -> None:
    database.connect().execute("DELETE FROM counterfoil.projections")

    assert projector.advance(JOBS).state is State.ABSENT


def test_all_that_are_live_are_projected_to_the_horizon(
    opened: Database, store: BatchStore, database: TestDatabase
) -> None:
    refs = job_refs(7)
    written(store.commit([births(refs)]))
    written(store.commit([appending(refs, CLAIM)]))

    project(opened, most=3)

    assert_read_model_holds(database.connect(), JOBS)


def test_a_build_reads_ahead_and_writes_each_batch_once(
    projector: Projector, store: BatchStore, database: TestDatabase
) -> None:
    connection = database.connect()
    refs = job_refs(9)
    written(store.commit([births(refs)]))
    written(store.commit([appending(refs, CLAIM)]))
    connection.execute(
        """
        UPDATE counterfoil.projections
           SET build = 'rebuild', build_schema = 3, build_began_at = counterfoil.now()
        """
    )

    told = [projector.advance(JOBS, slot="b", until=12, most=4) for _ in range(4)]
    further = [projector.advance(JOBS, slot="b", until=18, most=5) for _ in range(2)]

    assert [each.position for each in told] == [4, 8, 12, 12]
    assert [each.position for each in further] == [17, 18]
    assert_read_model_holds(connection, JOBS, "b")


def test_a_round_in_which_nothing_happens_asks_the_database_nothing(
    store: BatchStore, database: TestDatabase
) -> None:
    written(store.commit([births(job_refs(2))]))
    mishaps = Mishaps(database.conninfo)
    projector = Projector(mishaps)
    until = projector.horizon.current()
    projector.advance(JOBS, until=until)
    statements = mishaps.count("")

    told = projector.advance(JOBS, until=until)
    mishaps.close()

    assert told.state is State.UP_TO_DATE
    assert statements == []
