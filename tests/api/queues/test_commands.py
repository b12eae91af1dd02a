"""`queues` and `workers`: what they say to a person and to a machine."""

import json
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from api.cli.app import run
from infrastructure.bootstrap import Composition
from infrastructure.processor.heartbeat import register
from infrastructure.processor.identity import this_process
from tests.fixtures.database import TestDatabase
from tests.fixtures.workers import enqueue

pytestmark = pytest.mark.database

REASON = ("--reason", "the reports are late")

type Ask = Callable[..., tuple[int, str, str]]


@pytest.fixture
def ask(
    database: TestDatabase,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Ask:
    def asked(*arguments: str, who: str = "ann") -> tuple[int, str, str]:
        monkeypatch.setenv("COUNTERFOIL_OPERATOR", who)
        place = Composition({"COUNTERFOIL_DATABASE_URL": database.url})
        code = run(place, list(arguments))
        said = capsys.readouterr()
        return code, said.out, said.err

    return asked


@pytest.fixture
def connection(database: TestDatabase) -> psycopg.Connection[Any]:
    return database.connect()


def test_a_queue_is_paused_shown_and_resumed(ask: Ask) -> None:
    code, out, _ = ask("queues", "pause", "bulk", "--for", "90m", *REASON)
    assert code == 0
    assert "queue bulk: paused until " in out
    assert "by ann: the reports are late, without a limit" in out

    code, out, _ = ask("queues", "list")
    (row,) = [line for line in out.splitlines() if line.startswith("bulk")]
    assert "by ann" in row

    code, _, err = ask("queues", "pause", "bulk", *REASON, who="bob")
    assert code == 1
    assert "queue_paused: queue bulk is paused by ann until" in err
    code, out, _ = ask("queues", "resume", "bulk", *REASON)
    assert (code, "queue bulk: not paused" in out) == (0, True)


def test_a_limit_is_set_and_taken_away(ask: Ask) -> None:
    code, out, _ = ask("queues", "limit", "bulk", "3", "--json", *REASON)
    told = json.loads(out)
    assert (code, told["queue"]["concurrency"], told["queue"]["version"]) == (0, 3, 1)
    assert told["position"] > 0

    code, out, _ = ask("queues", "limit", "bulk", "none", *REASON)
    assert (code, "without a limit" in out) == (0, True)


def test_a_queue_tells_what_is_due(
    ask: Ask, connection: psycopg.Connection[Any]
) -> None:
    enqueue(connection, "noop", queue="reports")

    _, out, _ = ask("queues", "list", "reports", "--json")

    (told,) = json.loads(out)["queues"]
    assert (told["name"], told["due"], told["running"]) == ("reports", 1, 0)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("queues", "pause", "bulk", "--for", "soon"), 2, "90m"),
        (("queues", "pause", "bulk", "--for", "25h"), 1, "at most 24 hours"),
        (("queues", "pause", "blk"), 1, "there is no queue blk"),
        (("queues", "limit", "bulk", "few"), 2, "or none"),
        (("queues", "limit", "bulk", "0"), 1, "a number from 1"),
        (("workers", "drain", "nobody"), 1, "there is no worker nobody"),
    ],
)
def test_what_makes_no_sense_is_refused_with_what_would(
    arguments: tuple[str, ...], code: int, words: str, ask: Ask
) -> None:
    told, _, err = ask(*arguments, *REASON)

    assert told == code
    assert words in " ".join(err.split())


def test_a_queue_that_is_not_there_is_said_to_be_none(ask: Ask) -> None:
    code, _, err = ask("queues", "list", "blk")

    assert (code, "there is no queue blk" in err) == (1, True)


def test_a_worker_is_shown_and_drained(
    ask: Ask, connection: psycopg.Connection[Any]
) -> None:
    _, out, _ = ask("queues", "list")
    assert "no worker is alive" in out
    owner = this_process()
    register(connection, owner, ["noop"], ["jobs"])

    _, out, _ = ask("workers", "list")
    assert str(owner.boot) in out
    assert "alive" in out
    code, out, _ = ask("workers", "drain", str(owner.boot), *REASON)
    assert (code, "is drained: nothing is left" in out) == (0, True)
    _, out, _ = ask("workers", "drain", str(owner.boot), "--json", *REASON)
    assert json.loads(out)["worker"]["state"] == "drained"
    _, out, _ = ask("workers", "list", "--json")
    assert json.loads(out)["workers"][0]["roles"] == ["jobs"]


def test_a_job_of_a_paused_queue_says_what_it_waits_for(
    ask: Ask, connection: psycopg.Connection[Any]
) -> None:
    job = enqueue(connection, "noop", queue="bulk")
    ask("queues", "pause", "bulk", *REASON)

    _, out, _ = ask("jobs")
    assert "queue bulk is paused" in out
    _, out, _ = ask("why", str(job))
    assert "; queue bulk is paused until 20" in out
    ask("queues", "resume", "bulk", *REASON)
    _, out, _ = ask("jobs")
    assert "is paused" not in out
