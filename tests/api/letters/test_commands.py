"""`dead-letters` and `history`: for a person, as JSON, refused; and never a secret."""

from collections.abc import Callable
from uuid import UUID

import pytest

from api.cli.app import run
from domain.jobs.outcome import Fail, Retry
from infrastructure.bootstrap import Composition
from infrastructure.postgres.database import Database
from tests.api.command import Command, Result
from tests.fixtures.database import TestDatabase
from tests.fixtures.read_models import project
from tests.fixtures.workers import enqueue
from tests.operators.world import GENERIC, SERVED, World, bring

pytestmark = pytest.mark.database

SECRET = "4000-1234"  # noqa: S105 - stands for what somebody may put anywhere


type Asked = Callable[..., Result]


@pytest.fixture
def asked(database: TestDatabase, capsys: pytest.CaptureFixture[str]) -> Asked:
    """What a command answers in this process, which takes no time to start."""
    installation = Composition({"COUNTERFOIL_DATABASE_URL": database.url})

    def ask(*arguments: object) -> Result:
        code = run(installation, [str(argument) for argument in arguments])
        told = capsys.readouterr()
        return Result(code, told.out, told.err)

    return ask


@pytest.fixture
def dead(world: World) -> UUID:
    """A dead job that is full of secrets."""
    job = enqueue(world.connection, GENERIC, args={"n": 1, SECRET: SECRET})
    world.end(world.claim(GENERIC), Retry(code="http_502", error=f"said {SECRET}"))
    world.connection.execute("UPDATE counterfoil.jobs SET run_at = counterfoil.now()")
    world.end(world.claim(GENERIC), Fail(code="http_422", error=f"said {SECRET}"))
    return job


def catch_up(database: TestDatabase) -> None:
    with Database(database.conninfo, pool_size=2) as pool:
        project(pool)


def test_dead_letters_tell_causes_samples_and_what_can_be_done(
    counterfoil: Command, world: World, database: TestDatabase, dead: UUID
) -> None:
    _, operation = bring(world, "discarded", SERVED)
    catch_up(database)

    shown = counterfoil("dead-letters")
    told = counterfoil("dead-letters", "--json").document

    assert shown.code == 0
    for word in (str(dead), str(operation), GENERIC, SERVED, "http_422", "retry"):
        assert word in shown.out
    assert "permanent: its handler said" in shown.out
    assert "counterfoil retry ID" in shown.out
    mine, served = sorted(told["causes"], key=lambda it: str(it["sampleKind"]))
    assert (mine["kind"], mine["code"], mine["errorCode"]) == (
        GENERIC,
        "permanent",
        "http_422",
    )
    assert mine["count"] == {"value": 1, "relation": "eq"}
    assert (mine["possible"], served["possible"]) == (["retry"], ["retry", "cancel"])
    assert told["asOf"]["position"] > 0
    assert f"as of position {told['asOf']['position']}" in shown.err
    assert SECRET not in shown.out + shown.err + str(told)


def test_dead_letters_are_listed_page_by_page_with_their_commands(
    asked: Asked, world: World, database: TestDatabase, dead: UUID
) -> None:
    _, operation = bring(world, "discarded", SERVED)
    catch_up(database)

    first = asked("dead-letters", "--list", "--limit", 1, "--json").document
    second = asked("dead-letters", "--after", first["page"]["next"])
    of_order = asked("dead-letters", "--order", "shop:1", "--json").document

    (letter,) = first["items"]
    assert letter["streamId"] == str(operation)
    assert letter["orderId"] == "shop:1"
    assert letter["commands"] == [
        f'counterfoil retry {operation} --reason "…"',
        f'counterfoil cancel {operation} --reason "…"',
    ]
    assert str(dead) in second.out
    assert str(operation) not in second.out
    assert of_order["items"] == first["items"]
    assert SECRET not in str(first) + second.out


def test_who_ended_a_letter_is_told_and_a_read_waits_for_the_position(
    asked: Asked, world: World, database: TestDatabase, dead: UUID
) -> None:
    done = world.retry(dead, reason=f"because of {SECRET}")
    catch_up(database)

    shown = asked("dead-letters", "--ended", "--at-least", done.position)
    told = asked("dead-letters", "--ended", "--json").document
    none = asked("dead-letters")

    assert "operator ann" in shown.out
    (ended,) = told["items"]
    assert (ended["streamId"], ended["endedHow"]) == (str(dead), "retried")
    assert "no dead letters" in none.err
    assert SECRET not in shown.out + str(told)


def test_history_tells_changes_and_how_many_attempts_there_were(
    asked: Asked, world: World, database: TestDatabase, dead: UUID
) -> None:
    world.retry(dead, reason=f"because of {SECRET}")
    catch_up(database)

    shown = asked("history", dead)
    told = asked("history", dead, "--json", "--limit", 4).document
    counts = asked("history")
    exactly = asked("history", "--exact", "--json").document

    for word in ("job.claimed", "http_502", "permanent after http_422", "operator ann"):
        assert word in shown.out
    assert "attempts: 2 times jobs were claimed" in shown.out
    assert told["of"] == "job"
    assert [it["version"] for it in told["items"]] == [1, 2, 3, 4]
    assert told["next"] == told["items"][-1]["position"]
    assert {"type": "job.claimed", "count": {"value": 2, "relation": "eq"}} in exactly[
        "counts"
    ]
    assert "job.claimed" in counts.out
    assert SECRET not in shown.out + str(told) + counts.out


REFUSED = [
    (("history", "never-settled"), 1, "there is no job, operation, delivery"),
    (("history", "x", "--exact"), 2, "without an ID"),
    (("dead-letters", "--order", "never"), 1, "there is no order never of tenant"),
    (("dead-letters", "--older-than", "soon"), 2, "90s, 30m, 12h or 7d"),
    (("dead-letters", "--ended", "--kind", "x"), 2, "--tenant, --limit and"),
    (("dead-letters", "--after", "nowhere"), 1, "cursor"),
    (("dead-letters", "--at-least", "77"), 1, "77"),
]


def test_what_makes_no_sense_is_refused_in_a_sentence(asked: Asked) -> None:
    for arguments, code, word in REFUSED:
        refused = asked(*arguments)

        assert refused.code == code
        assert word in refused.complaint()
