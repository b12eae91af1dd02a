"""No retry beside a handler that runs on: by whose word, and for how long."""

from uuid import UUID, uuid4

import pytest

from application.errors import StateConflictError
from tests.operators.world import GENERIC, SERVED, World, bring

pytestmark = [pytest.mark.database, pytest.mark.usefixtures("heads_equal_folds")]

SAY = """
INSERT INTO counterfoil.workers
       (boot_id, host, pid, kinds, beat_at, stopped_at, lingering)
VALUES (%(boot)s, 'here', 7, '{}', counterfoil.now() - %(beat)s::interval,
        counterfoil.now() - %(stop)s::interval, ARRAY[%(other)s, %(job)s]::uuid[])
"""


def say(world: World, job: UUID, beat: str = "0", stop: str | None = None) -> None:
    """Let a process have said that a handler of the job runs on."""
    world.connection.execute(
        SAY,
        {"boot": uuid4(), "beat": beat, "stop": stop, "job": job, "other": uuid4()},
    )


@pytest.mark.parametrize("state", ["cancelled", "discarded", "after_failure"])
def test_a_retry_is_refused_while_a_handler_runs_on(world: World, state: str) -> None:
    job, _ = bring(world, state, GENERIC)
    before = world.tags(job)
    say(world, job)
    say(world, job, "0", "9 seconds")  # has stopped, and may not have ended yet

    with pytest.raises(StateConflictError, match="stop that worker") as refused:
        world.retry(job)

    assert refused.value.state == "lingering"
    assert world.tags(job) == before
    assert [row[0::2][:2] for row in world.refusals()] == [
        ("retry", "job_mutation_rejected")
    ]


def test_whoever_names_the_operation_is_told_of_a_conflict(world: World) -> None:
    job, operation = bring(world, "discarded", SERVED)
    say(world, job)

    with pytest.raises(StateConflictError) as refused:
        world.retry(str(operation))

    assert (refused.value.code, refused.value.state) == ("state_conflict", "lingering")


def test_whoever_is_gone_runs_nothing(world: World) -> None:
    job, _ = bring(world, "cancelled", GENERIC)
    say(world, job, "61 seconds")
    say(world, job, "0", "11 seconds")
    say(world, uuid4())

    assert world.retry(job).events == ("job.retried",)
