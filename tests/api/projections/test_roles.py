"""`worker --only` and `--without`: processes for jobs, and for projections."""

import json

import pytest

from api.cli.app import run
from infrastructure.bootstrap import Composition
from tests.api.command import Command
from tests.fixtures.database import TestDatabase
from tests.fixtures.workers import enqueue, until
from tests.projecting.runner.seen import is_caught_up

pytestmark = pytest.mark.database


def test_a_worker_that_only_projects_claims_nothing_and_needs_no_kinds(
    counterfoil: Command, database: TestDatabase
) -> None:
    connection = database.connect()
    enqueue(connection, "noop")
    worker = counterfoil.start("worker", "--only", "projections", "--json")
    until(lambda: is_caught_up(connection))

    result = worker.stop()

    assert result.code == 0
    (told,) = result.documents
    assert told["roles"] == ["projections"]
    events = [json.loads(line)["event"] for line in result.err.splitlines()]
    assert events[0] == "projecting started"
    assert events[-1] == "projecting stopped"
    assert connection.execute("SELECT 1 FROM counterfoil.workers").fetchall() == []


def test_a_worker_without_projections_leads_none(
    counterfoil: Command, database: TestDatabase
) -> None:
    worker = counterfoil.start("worker", "--without", "projections")
    worker.wait_for('"event": "worker started"')

    result = worker.stop()

    assert result.code == 0
    assert "projecting" not in result.err
    led = database.connect().execute("SELECT 1 FROM counterfoil.leadership")
    assert led.fetchall() == []


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--only", "passes"), "'passes' is not one of 'jobs', 'projections'"),
        (("--only", "jobs", "--without", "jobs"), "give one of them"),
        (("--without", "jobs", "--without", "projections"), "nothing is left to do"),
    ],
)
def test_nonsense_is_refused_before_anything_is_opened(
    arguments: tuple[str, ...], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    nowhere = Composition({"COUNTERFOIL_DATABASE_URL": "postgresql://nowhere"})

    code = run(nowhere, ["worker", *arguments])

    said = capsys.readouterr()
    assert (code, said.out) == (2, "")
    assert told in said.err
