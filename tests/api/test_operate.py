"""`retry` and `cancel` as processes: what they say, and what is on record."""

import pytest

from tests.api.command import Command
from tests.operators.world import GENERIC, SERVED, World, bring

pytestmark = [pytest.mark.database, pytest.mark.usefixtures("heads_equal_folds")]


def test_retry_revives_a_dead_letter_with_its_operation(
    counterfoil: Command, world: World
) -> None:
    job, operation = bring(world, "discarded", SERVED)

    result = counterfoil("retry", operation, "--reason", "the panel is back", "--json")

    assert result.code == 0
    assert result.document["events"] == ["job.retried", "fulfillment.retried"]
    assert result.document["jobId"] == str(job)
    assert result.document["operationId"] == str(operation)
    assert world.state_of(job) == "waiting"
    ((actor, reason),) = world.connection.execute(
        """
        SELECT meta->'actor'->>'id', meta->>'reason'
          FROM counterfoil.events WHERE type = 'job.retried'
        """
    ).fetchall()
    assert (actor, reason) == ("ann", "the panel is back")


def test_cancel_says_what_it_did_and_twice_is_told_as_so_already(
    counterfoil: Command, world: World
) -> None:
    job, _ = bring(world, "due", SERVED)

    first = counterfoil("cancel", job, "--reason", "refunded")
    again = counterfoil("cancel", job, "--reason", "refunded")

    assert first.out == "the job is cancelled\nthe operation is cancelled\n"
    assert again.out == "nothing to do: it is so already\n"
    assert (first.code, again.code) == (0, 0)


def test_cancel_of_a_running_job_is_a_request(
    counterfoil: Command, world: World
) -> None:
    job, _ = bring(world, "running", GENERIC)

    result = counterfoil("cancel", job, "--reason", "refunded")

    assert result.out == "the job runs; its worker is asked to stop\n"


def test_what_is_refused_is_told_in_one_sentence_and_recorded(
    counterfoil: Command, world: World
) -> None:
    """I6, I9."""
    job, _ = bring(world, "succeeded", GENERIC)

    result = counterfoil("retry", job, "--reason", "try it")

    assert result.code == 1
    assert result.complaint() == f"job {job} is succeeded; what succeeded is final"
    assert world.refusals() == [
        ("retry", str(job), "state_conflict", "operator", "ann", "try it", 1)
    ]


@pytest.mark.parametrize("verb", ["retry", "cancel"])
def test_an_unknown_id_is_refused_and_recorded(
    counterfoil: Command, world: World, verb: str
) -> None:
    result = counterfoil(verb, "cdnow:17", "--reason", "try it")

    assert result.code == 1
    assert "no job, operation or delivery cdnow:17" in result.complaint()
    assert [row[:3] for row in world.refusals()] == [(verb, "cdnow:17", "not_found")]


def test_a_live_twin_is_named(counterfoil: Command, world: World) -> None:
    """S19."""
    dead = world.report(uniqueKey="one")
    world.cancel(dead)
    twin = world.report(uniqueKey="one")

    result = counterfoil("retry", dead, "--reason", "try it")

    assert result.code == 1
    assert str(twin) in result.complaint()


@pytest.mark.parametrize("reason", [[], ["--reason", "no"], ["--reason", "x" * 401]])
def test_without_a_good_reason_nothing_is_asked_for(
    counterfoil: Command, world: World, reason: list[str]
) -> None:
    """S30."""
    job, _ = bring(world, "due", GENERIC)

    result = counterfoil("cancel", job, *reason)

    assert result.code == 2
    assert "--reason" in result.complaint()
    assert world.state_of(job) == "waiting"
    assert world.refusals() == []
