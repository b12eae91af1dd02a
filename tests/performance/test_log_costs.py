"""What the batch store costs per group, in batches of 1, 10 and 100."""

from collections.abc import Iterator, Sequence

import pytest

from application.unit import Group
from domain.jobs.aggregate import Cancel
from infrastructure.postgres.batch_store import BatchStore
from infrastructure.postgres.database import Database
from tests.fixtures.database import TestDatabase
from tests.performance.meter import Cost, Meter
from tests.store.groups import (
    births,
    commanding,
    job_birth,
    operation_birth,
    step,
    written,
)

pytestmark = pytest.mark.database

WARM = 6
"""So often the driver may see a statement before it has prepared it."""

# Of one batch: BEGIN with its limits is six statements in one message; then one that
# locks, one that writes, and COMMIT, however many groups and kinds of stream there are.
BATCH = Cost(9, 4, 1)

# Of one group beside that: a birth is an event and a head; an end is an event, a
# message and the way from one table of heads into the other.
BIRTH = Cost(0, 0, 0, 2, 5, 1_200)
END = Cost(0, 0, 0, 4, 7, 1_500)
BATCHES = (1, 10, 100)


def most(of_one: Cost, batch: int) -> Cost:
    return Cost(
        BATCH.statements,
        BATCH.round_trips,
        BATCH.commits,
        of_one.rows * batch,
        of_one.index_entries * batch,
        of_one.wal_bytes * batch,
    )


@pytest.fixture
def store(counted: TestDatabase) -> Iterator[BatchStore]:
    """A store over one connection, on which every statement was sent before."""
    with Database(counted.conninfo, pool_size=1) as pool:
        store = BatchStore(pool)
        for _ in range(WARM):
            job = job_birth()
            commit(store, [births(job)])
            commit(store, [step(job.ref, make=commanding(Cancel()))])
            commit(store, [births(job_birth(), operation_birth())])
        yield store


def commit(store: BatchStore, groups: Sequence[Group]) -> None:
    for result in store.commit(groups):
        written(result)


@pytest.mark.parametrize("batch", BATCHES)
def test_a_batch_of_births_is_four_round_trips(
    batch: int, store: BatchStore, meter: Meter
) -> None:
    groups = [births(job_birth()) for _ in range(batch)]

    with meter.measuring():
        commit(store, groups)

    assert not meter.cost.above(most(BIRTH, batch)), meter.cost


@pytest.mark.parametrize("batch", BATCHES)
def test_a_batch_of_ends_is_four_round_trips(
    batch: int, store: BatchStore, meter: Meter
) -> None:
    jobs = [job_birth() for _ in range(batch)]
    commit(store, [births(each) for each in jobs])
    groups = [step(each.ref, make=commanding(Cancel())) for each in jobs]

    with meter.measuring():
        commit(store, groups)

    assert not meter.cost.above(most(END, batch)), meter.cost


@pytest.mark.parametrize("batch", BATCHES)
def test_streams_of_several_kinds_cost_no_further_round_trip(
    batch: int, store: BatchStore, meter: Meter
) -> None:
    groups = [births(job_birth(), operation_birth()) for _ in range(batch)]

    with meter.measuring():
        commit(store, groups)

    assert meter.cost.round_trips == BATCH.round_trips
    assert meter.cost.statements == BATCH.statements
