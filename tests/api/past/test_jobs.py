"""`jobs`, whatever became of them: out of the read model, as of its position."""

import pytest

from domain.jobs.outcome import Completed, Retry
from tests.api.command import Command
from tests.fixtures.read_models import project
from tests.operators.world import GENERIC, World

pytestmark = pytest.mark.database


def test_jobs_shows_what_has_succeeded(counterfoil: Command, world: World) -> None:
    done = world.report()
    world.end(world.claim(GENERIC), Completed())
    later = world.report()
    world.end(world.claim(GENERIC), Retry(code="http_502"))
    project(world.database)

    shown = counterfoil("jobs", "--state", "succeeded", "--count")
    told = counterfoil("jobs", "--all", "--limit", 1, "--json").document
    rest = counterfoil("jobs", "--all", "--after", told["page"]["next"], "--json")
    met = counterfoil("jobs", "--error-code", "http_502", "--attempts", 1, "--json")

    assert shown.code == 0
    assert str(done) in shown.out
    assert str(later) not in shown.out
    assert "1 in all" in shown.err
    assert "as of position" in shown.err
    assert [job["jobId"] for job in told["items"]] == [str(later)]
    assert [job["jobId"] for job in rest.document["items"]] == [str(done)]
    assert rest.document["items"][0]["finishedAt"] is not None
    assert rest.document["page"]["next"] is None
    assert [job["jobId"] for job in met.document["items"]] == [str(later)]
    assert "args" not in told["items"][0]


def test_jobs_can_be_asked_to_wait_for_what_was_just_done(
    counterfoil: Command, world: World
) -> None:
    done = world.report()
    project(world.database)

    found = counterfoil("jobs", "--all", "--at-least", 1, "--older-than", "0s")
    none = counterfoil("jobs", "--older-than", "1h")
    soon = counterfoil("jobs", "--due-within", "1h", "--json").document

    assert str(done) in found.out
    assert (none.code, none.out) == (0, "")
    assert "no such job" in none.err
    assert [job["jobId"] for job in soon["items"]] == [str(done)]


def test_what_is_said_and_fits_nothing_finds_nothing(
    counterfoil: Command, world: World
) -> None:
    world.report()
    project(world.database)

    for said in ("--order=", "--correlation=", "--worker=", "--younger-than=0s"):
        found = counterfoil("jobs", said)

        assert (found.code, found.out) == (0, ""), said
        assert "no such job" in found.err


def test_a_position_of_zero_is_one_as_well(counterfoil: Command, world: World) -> None:
    world.report()
    project(world.database)

    told = counterfoil("jobs", "--at-least", 0, "--json").document

    assert told["asOf"]["position"] == 1


@pytest.mark.parametrize(
    ("options", "code", "told"),
    [
        (("--state", "due", "--all"), 2, "--state due"),
        (("--all", "--after", "x"), 1, "cursor"),
        (("--before", ""), 1, "cursor"),
        (("--all", "--limit", "201"), 1, "limit"),
        (("--attempts", 2**31), 2, "--attempts"),
        (("--older-than", "soon"), 2, "no age"),
        (("--operation", "x"), 2, "--operation"),
    ],
)
def test_what_cannot_be_meant_is_refused_by_name(
    counterfoil: Command, options: tuple[str | int, ...], code: int, told: str
) -> None:
    refused = counterfoil("jobs", *options)

    assert refused.code == code
    assert told in refused.err
