"""What anybody enqueued is cancelled alone; what nobody can read is cancelled too."""

from typing import LiteralString

import pytest
from psycopg import sql

from tests.fixtures.workers import enqueue
from tests.operators.world import GENERIC, SERVED, World, bring


@pytest.mark.parametrize("tenant", ["default", "elsewhere"])
def test_i6_cancelling_a_stray_job_cancels_no_operation(
    tenant: str, world: World
) -> None:
    """I1: only the job that was born with an operation, and its key, serves it."""
    _, operation = bring(world, "due", SERVED)
    key = f"fulfillment:{operation}" if tenant != "default" else "mine"
    stray = enqueue(
        world.connection,
        SERVED,
        args={"operation_id": str(operation)},
        uniqueKey=key,
        tenant=tenant,
    )

    done = world.cancel(stray)

    assert done.events == ("job.cancelled",)
    assert operation is not None
    assert world.tags(operation) == ["fulfillment.requested"]


@pytest.mark.parametrize(
    "args",
    [
        "'[1]'",
        "jsonb_build_object('n', 1e6000)",
        "(repeat('[', 3000) || repeat(']', 3000))::jsonb",
    ],
    ids=["no object", "a number of 6,001 digits", "3,000 deep"],
)
@pytest.mark.parametrize("kind", [GENERIC, SERVED])
def test_i13_a_job_whose_arguments_nobody_can_read_is_still_cancelled(
    kind: str, args: LiteralString, world: World
) -> None:
    job, operation = bring(world, "due", kind)
    before = world.connection.execute(
        "SELECT args::text FROM counterfoil.jobs WHERE stream_id = %s", (job,)
    ).fetchall()
    spoil = sql.SQL("UPDATE counterfoil.jobs SET args = {}").format(sql.SQL(args))
    world.connection.execute(spoil)

    done = world.cancel(job)

    assert done.operation_id == operation
    assert "job.cancelled" in done.events
    world.connection.execute(
        "UPDATE counterfoil.jobs_dead SET args = %s::jsonb WHERE stream_id = %s",
        (before[0][0], job),
    )
