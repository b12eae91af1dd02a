"""Which jobs are suspected, and how they are claimed: from the log's side."""

from datetime import timedelta

import pytest

from domain.jobs.outcome import Completed, Retry
from domain.jobs.verdict import LeaseLost
from infrastructure.processor.heartbeat import deregister, register
from tests.fixtures.database import ON_BOTH_SERVERS, TestDatabase
from tests.fixtures.workers import enqueue, facts, history
from tests.processor.rig import Rig

pytestmark = [
    ON_BOTH_SERVERS,
    pytest.mark.usefixtures("heads_equal_folds", "messages_equal_events"),
]

DIED_ALONE = LeaseLost(cause="process_gone", died=True, was_only=True, how="signal 9")


@pytest.fixture(autouse=True)
def _old_server(database: TestDatabase) -> None:
    database.advance(timedelta(hours=1))


def test_all_jobs_of_a_process_that_died_are_suspects_and_claimed_one_by_one(
    parts: Rig,
) -> None:
    """Which of them had begun nobody has written down; to be alone costs little."""
    jobs = {enqueue(parts.connection, "noop") for _ in range(3)}
    assert len(parts.claim()) == 3

    assert parts.die() == 3

    assert parts.claim() == []
    alone = [parts.claim_suspect() for _ in range(4)]
    assert [len(claimed) for claimed in alone] == [1, 1, 1, 0]
    assert {each.job.id for claimed in alone for each in claimed} == jobs
    assert all(each.is_alone for claimed in alone for each in claimed)


def test_i3_a_death_with_others_costs_nobody_anything(parts: Rig) -> None:
    job = enqueue(parts.connection, "noop")
    parts.claim()
    parts.die()

    (lost,) = facts(parts.connection, job, "job.lease_expired")

    assert (lost["attempt"], lost["crashes"], lost["is_suspect"]) == (0, 0, True)
    (held,) = parts.claim_suspect()
    assert held.job.attempt == 1


def test_a_suspect_that_succeeds_is_done(parts: Rig) -> None:
    """By the statement for all plain successes."""
    job = enqueue(parts.connection, "noop")
    parts.claim()
    parts.die()
    (held,) = parts.claim_suspect()

    parts.settle(held, Completed())

    assert history(parts.connection, job)[-1] == "succeeded"


def test_a_suspect_that_returns_is_claimed_with_others_again(
    database: TestDatabase, parts: Rig
) -> None:
    enqueue(parts.connection, "noop")
    parts.claim()
    parts.die()
    (held,) = parts.claim_suspect()
    parts.settle(held, Retry(code="later"))
    database.advance(timedelta(hours=1))

    assert parts.claim_suspect() == []
    assert len(parts.claim()) == 1


def test_s6_what_dies_alone_again_is_dead_and_told_of_once(
    database: TestDatabase, parts: Rig
) -> None:
    connection = parts.connection
    job = enqueue(connection, "noop")
    parts.claim()
    parts.die()
    for _ in range(2):
        (held,) = parts.claim_suspect()
        parts.settle(held, DIED_ALONE)
        database.advance(timedelta(hours=1))

    assert parts.claim_suspect() == parts.claim() == []
    assert history(connection, job).count("claimed") == 3
    (dead,) = facts(connection, job, "job.discarded")
    assert (dead["code"], dead["attempt"]) == ("worker_crashed", 0)
    told = connection.execute("SELECT topic FROM counterfoil.outbox").fetchall()
    assert told == [("job.discarded",)]


def test_a_worker_that_died_around_a_lone_suspect_is_counted(
    database: TestDatabase, parts: Rig
) -> None:
    """So a job that ends even the worker around its own process is bounded."""
    connection = parts.connection
    job = enqueue(connection, "noop")
    parts.claim()
    parts.die()
    for _ in range(2):
        database.advance(timedelta(hours=1))
        assert len(parts.claim_suspect()) == 1
        parts.die()

    assert facts(connection, job, "job.discarded")[0]["code"] == "worker_crashed"


def test_a_worker_that_died_with_others_in_it_proves_less(
    database: TestDatabase, parts: Rig
) -> None:
    connection = parts.connection
    job = enqueue(connection, "noop")
    parts.claim()
    parts.die()
    parts.claim_suspect()
    enqueue(connection, "noop")
    assert len(parts.claim()) == 1
    database.advance(timedelta(seconds=30))

    assert parts.die() == 2

    assert facts(connection, job, "job.lease_expired")[-1]["crashes"] == 1


def test_who_said_goodbye_is_not_suspected(database: TestDatabase, parts: Rig) -> None:
    """A call was under way at the end of a polite stop; nothing died of it."""
    job = enqueue(parts.connection, "noop")
    parts.claim()
    register(parts.connection, parts.owner, ["noop"])
    deregister(parts.connection, parts.owner)
    database.advance(timedelta(seconds=61))
    parts.rescuer.round()

    (lost,) = facts(parts.connection, job, "job.lease_expired")
    assert (lost["cause"], lost["is_suspect"]) == ("process_gone", False)


def test_a_lease_that_a_living_process_lost_makes_no_suspect(
    database: TestDatabase, parts: Rig
) -> None:
    job = enqueue(parts.connection, "noop")
    parts.claim()
    database.advance(timedelta(seconds=61))
    register(parts.connection, parts.owner, ["noop"])
    parts.rescuer.round()

    (lost,) = facts(parts.connection, job, "job.lease_expired")
    assert (lost["cause"], lost["is_suspect"]) == ("lease_lost", False)


def test_a_suspect_keeps_its_place_in_the_turn_of_its_key(parts: Rig) -> None:
    connection = parts.connection
    first = enqueue(connection, "turn", serialKey="k")
    parts.claim()
    parts.die()
    enqueue(connection, "turn", serialKey="k")

    assert parts.claim() == []  # the second waits for the suspect before it
    (held,) = parts.claim_suspect()
    assert held.job.id == first
    assert parts.claim() == []
    parts.settle(held, Completed())
    assert len(parts.claim()) == 1


def test_a_suspect_behind_a_held_key_waits(parts: Rig) -> None:
    connection = parts.connection
    enqueue(connection, "turn", serialKey="k")
    parts.claim()
    parts.die()
    connection.execute(
        """
        INSERT INTO counterfoil.running_keys (tenant_id, key, job_id, token)
        VALUES ('default', 'k', counterfoil.uuid7(), 1)
        """
    )

    assert parts.claim_suspect() == []
    parts.rescuer.round()  # nobody holds it in truth
    assert len(parts.claim_suspect()) == 1
