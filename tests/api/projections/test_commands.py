"""`projections list`, `pause` and `resume`, told to a person and to a machine."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest

from api.cli.app import run
from infrastructure.bootstrap import Composition
from infrastructure.postgres.database import Database
from tests.fixtures.database import TestDatabase
from tests.fixtures.read_models import project
from tests.fixtures.workers import enqueue
from tests.projecting.poison import add

pytestmark = pytest.mark.database

REASON = ("--reason", "its table moves")


@dataclass(frozen=True)
class Told:
    """What one command said."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:  # noqa: ANN401 - JSON
        return json.loads(self.out)


type Ask = Callable[..., Told]


@pytest.fixture
def ask(
    database: TestDatabase,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Ask:
    def ask(*arguments: str, who: str = "ann") -> Told:
        monkeypatch.setenv("COUNTERFOIL_OPERATOR", who)
        place = Composition({"COUNTERFOIL_DATABASE_URL": database.url})
        code = run(place, ["projections", *arguments])
        said = capsys.readouterr()
        return Told(code, said.out, said.err)

    return ask


@pytest.fixture
def connection(database: TestDatabase) -> psycopg.Connection[Any]:
    return database.connect()


@pytest.fixture
def pool(database: TestDatabase) -> Any:  # noqa: ANN401 - a generator
    with Database(database.conninfo, pool_size=2) as pool:
        yield pool


def test_a_person_sees_all_projections_and_that_a_worker_is_missing(
    ask: Ask, connection: psycopg.Connection[Any]
) -> None:
    enqueue(connection, "noop")

    told = ask("list")

    assert told.code == 0
    assert "jobs" in told.out
    assert "unowned" in told.out
    assert "1 positions" in told.out
    assert "start a worker" in told.err


def test_a_machine_sees_the_same(ask: Ask, connection: psycopg.Connection[Any]) -> None:
    enqueue(connection, "noop")

    page = ask("list", "--json").document

    (jobs,) = (each for each in page["projections"] if each["name"] == "jobs")
    assert (page["horizon"], page["last"]) == (1, 1)
    assert (jobs["state"], jobs["position"], jobs["lagPositions"]) == ("unowned", 0, 1)
    assert jobs["lagSeconds"] >= 0


def test_of_one_projection_it_is_told_what_it_has_set_aside_and_the_remedy(
    ask: Ask, connection: psycopg.Connection[Any], pool: Database
) -> None:
    add(connection, tag="job.dreamt")
    project(pool)

    told = ask("list", "jobs")

    assert "set aside: 1 event; the first 1:" in told.out
    assert "job.dreamt" in told.out
    assert "counterfoil projections resume jobs" in told.err
    ((event),) = ask("list", "jobs", "--json").document["setAside"]
    assert event["type"] == "job.dreamt"


def test_a_projection_that_does_not_exist_is_refused(ask: Ask) -> None:
    for command in (("list", "jbos"), ("pause", "jbos", *REASON)):
        told = ask(*command)

        assert (told.code, told.out) == (1, "")
        assert told.err == "error: there is no projection jbos\n"


def test_a_pause_is_told_and_who_comes_second_is_told_who_was_first(ask: Ask) -> None:
    first = ask("pause", "jobs", *REASON)
    again = ask("pause", "jobs", *REASON)
    other = ask("pause", "jobs", *REASON, who="bob")

    assert first.out == "jobs is paused: its rows stay as they are\n"
    assert again.out.startswith("nothing to do: it is so already\npaused since ")
    assert other.code == 1
    assert "by ann, in other words" in other.err
    shown = ask("list", "jobs").out
    assert "jobs: paused" in shown
    assert "why: its table moves" in shown


def test_a_resumption_is_told_and_so_is_one_of_nothing(ask: Ask) -> None:
    ask("pause", "jobs", *REASON)

    assert ask("resume", "jobs", *REASON).out == "jobs follows the log\n"
    assert ask("resume", "jobs", *REASON).out == (
        "nothing to do: it is not paused, and nothing is set aside\n"
    )


def test_what_still_cannot_be_folded_is_told(
    ask: Ask, connection: psycopg.Connection[Any], pool: Database
) -> None:
    add(connection, tag="job.dreamt")
    project(pool)

    told = ask("resume", "jobs", *REASON)

    assert told.out == "jobs follows the log\n"
    assert "still set aside: 1 event; " in told.err
    retried = ask("resume", "jobs", *REASON, "--json").document["retried"]
    assert retried == {"tried": 1, "left": 1}


def test_a_reason_is_asked_for(ask: Ask) -> None:
    for verb in ("pause", "resume"):
        told = ask(verb, "jobs")

        assert told.code == 2
        assert "--reason" in told.err


def test_a_list_says_that_it_is_old_and_that_somebody_wants_it_so(
    ask: Ask,
    database: TestDatabase,
    connection: psycopg.Connection[Any],
    capsys: pytest.CaptureFixture[str],
) -> None:
    ask("pause", "dead_letters", *REASON)
    enqueue(connection, "noop")

    run(Composition({"COUNTERFOIL_DATABASE_URL": database.url}), ["dead-letters"])
    told = capsys.readouterr().err

    assert "no dead letters" in told
    assert "as of position 0; the log goes on to" in told
    assert "paused" in told


def test_one_that_the_database_does_not_know_is_missed(
    ask: Ask, connection: psycopg.Connection[Any]
) -> None:
    connection.execute("DELETE FROM counterfoil.projections WHERE name = 'orders'")

    assert "orders is absent" in ask("list").err
    assert ask("list", "--json").document["absent"] == ["orders"]
