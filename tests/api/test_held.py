"""A job that is held by maintenance, as a person sees it: no year 9999 anywhere."""

import pytest

from tests.api.command import Command
from tests.fixtures.database import TestDatabase
from tests.fixtures.maintenance import Maintenance
from tests.operators.world import SERVED, World, bring

pytestmark = pytest.mark.database

NEVER = "9999"


def test_every_command_says_that_it_waits_for_the_end_of_maintenance(
    counterfoil: Command, database: TestDatabase, world: World
) -> None:
    Maintenance(database).begin()
    job, operation = bring(world, "held", SERVED)

    shown = {
        "jobs": counterfoil("jobs").out,
        "why": counterfoil("why", "shop:1").out,
        "job": counterfoil("job", job).out,
        "events": counterfoil("events").out,
        "jobs --json": counterfoil("jobs", "--json").out,
        "job --json": counterfoil("job", job, "--json").out,
        "why --json": counterfoil("why", operation, "--json").out,
    }

    for command, told in shown.items():
        assert NEVER not in told, command
    for command in ("jobs", "why", "why --json"):
        assert "waits for the end of maintenance" in shown[command], command
    for command in ("why", "job"):
        assert "until the gate panel opens" in shown[command], command
    assert "retrying (maintenance_active)" in shown["why"]
    assert '"runAt":null,"gate":"panel"' in shown["jobs --json"].replace(" ", "")


def test_a_held_job_is_not_retried_but_can_be_cancelled(
    counterfoil: Command, database: TestDatabase, world: World
) -> None:
    Maintenance(database).begin()
    job, operation = bring(world, "held", SERVED)

    refused = counterfoil("retry", job, "--reason", "it takes so long")
    cancelled = counterfoil("cancel", operation, "--reason", "not wanted any more")

    complaint = refused.complaint()
    assert "held at a closed gate" in complaint
    assert "it goes on when its gate opens; `counterfoil why` says what" in complaint
    assert cancelled.code == 0
    assert "waits for" not in counterfoil("why", job).out
    assert NEVER not in counterfoil("jobs", "--json").out
