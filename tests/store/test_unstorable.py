"""What PostgreSQL cannot store is found by halving, and takes nobody along."""

from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from application.unit import Group, Unstorable, Written
from domain.event import JsonObject
from domain.jobs.events import Succeeded
from infrastructure.postgres.batch_store import BatchStore
from tests.fixtures.database import ON_BOTH_SERVERS, TestDatabase
from tests.store.groups import CLAIM, births, commanding, job_birth, step, tags

if TYPE_CHECKING:
    from domain.stream import Change

pytestmark = [ON_BOTH_SERVERS, pytest.mark.usefixtures("heads_equal_folds")]


def deep(levels: int) -> JsonObject:
    value: JsonObject = {}
    for _ in range(levels):
        value = {"n": value}
    return value


BAD: dict[str, Any] = {
    "nul": job_birth(args={"text": "a\x00b"}),
    "nul in a name": job_birth(args={"a\x00": 1}),
    "lone surrogate": job_birth(args={"text": "a\ud800b"}),
    "too large a number": job_birth(args={"n": msgspec.Raw(b"1" + b"0" * 150_000)}),
    "too large a row for an index": job_birth(
        unique_key="".join(chr(0x4E00 + n) for n in range(3_000))
    ),
    "check violation": job_birth(priority=9),
    "kind too long": job_birth(kind="k" * 128),
    "no JSON": job_birth(args={"n": object()}),
    "too deep": job_birth(args=deep(100_000)),
}


@pytest.mark.parametrize("what", BAD)
def test_a_guilty_group_ends_alone_and_its_neighbours_are_written(
    what: str, database: TestDatabase, store: BatchStore
) -> None:
    good = [job_birth() for _ in range(6)]
    groups = [births(each) for each in good]
    groups.insert(3, births(job_birth(), BAD[what]))

    results = store.commit(groups)

    assert isinstance(results.pop(3), Unstorable)
    assert all(isinstance(result, Written) for result in results)
    connection = database.connect()
    assert len(tags(connection, *(each.ref for each in good))) == len(good)
    assert connection.execute("SELECT count(*) FROM counterfoil.jobs").fetchone() == (
        len(good),
    )


def test_several_guilty_groups_are_all_found(store: BatchStore) -> None:
    groups: list[Group] = []
    for n in range(16):
        born: Change = job_birth(args={"n": "\x00" if n in {0, 7, 8, 15} else "ok"})
        groups.append(births(born))

    results = store.commit(groups)

    guilty = {n for n, each in enumerate(results) if isinstance(each, Unstorable)}
    assert guilty == {0, 7, 8, 15}


def test_an_ending_that_cannot_be_stored_leaves_its_job_running(
    database: TestDatabase, store: BatchStore
) -> None:
    job = job_birth()
    store.commit([births(job)])
    store.commit([step(job.ref, make=commanding(CLAIM))])
    success = Succeeded(attempt=1, token=2, result={"text": "\x00"})

    (result,) = store.commit([step(job.ref, make=lambda _job: (success,))])

    assert isinstance(result, Unstorable)
    assert tags(database.connect(), job.ref) == ["job.enqueued", "job.claimed"]


def test_i12_what_cannot_be_stored_is_told_without_what_was_to_be_stored(
    store: BatchStore,
) -> None:
    """PostgreSQL shows the whole row, and what its job was asked with."""
    born: Change = job_birth(args={"card": "4711"}, priority=9)

    (result,) = store.commit([births(born)])

    assert isinstance(result, Unstorable)
    assert "jobs_priority_range" in result.error
    assert "4711" not in result.error
