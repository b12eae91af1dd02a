"""`projections holders`: who holds the feed back, told to a person and a machine."""

import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import psycopg
import pytest

from api.cli.app import run
from infrastructure.bootstrap import Composition
from infrastructure.postgres.database import connect
from tests.fixtures.database import TestDatabase

pytestmark = pytest.mark.database

ENQUEUE = """SELECT counterfoil.enqueue('{"kind": "test", "notify": false}')"""


@pytest.fixture
def shop(database: TestDatabase) -> Iterator[psycopg.Connection[Any]]:
    with closing(connect(database.conninfo, application_name="the shop")) as shop:
        shop.execute("BEGIN")
        shop.execute(ENQUEUE)
        yield shop
        shop.execute("ROLLBACK")


def holders(database: TestDatabase, *more: str) -> int:
    place = Composition({"COUNTERFOIL_DATABASE_URL": database.url})
    return run(place, ["projections", "holders", *more])


def test_when_nobody_holds_the_feed_back_that_is_said(
    database: TestDatabase, capsys: pytest.CaptureFixture[str]
) -> None:
    assert holders(database) == 0

    assert capsys.readouterr().out == (
        "nobody holds the feed back: it can be read up to 0\n"
    )


def test_a_person_is_told_who_it_is_and_what_can_be_done(
    database: TestDatabase,
    shop: psycopg.Connection[Any],
    capsys: pytest.CaptureFixture[str],
) -> None:
    pid = shop.info.backend_pid
    database.connect().execute(ENQUEUE)

    assert holders(database) == 0

    told = capsys.readouterr()
    assert "the feed can be read up to 0; 2 positions wait" in told.out
    assert f"pid {pid}" in told.out
    assert "the shop" in told.out
    assert f"pg_terminate_backend({pid})" in told.err


def test_a_prepared_one_is_ended_by_its_gid(
    database: TestDatabase, capsys: pytest.CaptureFixture[str]
) -> None:
    connection = database.connect()
    connection.execute("BEGIN")
    connection.execute(ENQUEUE)
    connection.execute("PREPARE TRANSACTION 'till 8'")
    try:
        assert holders(database) == 0

        told = capsys.readouterr()
        assert "gid till 8" in told.out
        assert "ROLLBACK PREPARED" in told.err
    finally:
        connection.execute("ROLLBACK PREPARED 'till 8'")


def test_a_machine_is_told_the_same(
    database: TestDatabase,
    shop: psycopg.Connection[Any],
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert holders(database, "--json") == 0

    page = json.loads(capsys.readouterr().out)
    (holder,) = page["holders"]
    assert holder["pid"] == shop.info.backend_pid
    assert (holder["ticket"], page["horizon"]) == (0, 0)
    assert holder["ageSeconds"] >= 0
