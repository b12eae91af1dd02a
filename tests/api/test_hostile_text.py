"""Stored text drives no terminal, and what cannot be read hides nothing else (I13)."""

import json
from pathlib import Path
from uuid import UUID

import pytest

from tests.api.command import Command
from tests.fixtures.database import TestDatabase
from tests.fixtures.workers import enqueue

pytestmark = pytest.mark.database

EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31m"


@pytest.fixture
def evil_job(database: TestDatabase) -> UUID:
    """A job whose arguments, and an operator whose name, would drive a terminal."""
    return enqueue(database.connect(), "report", args={EVIL: 1})


@pytest.mark.parametrize("command", ["job", "why", "events", "jobs"])
def test_no_stored_text_reaches_the_terminal_as_a_command(
    command: str, evil_job: UUID, counterfoil: Command
) -> None:
    asked = (command, evil_job) if command in {"job", "why"} else (command,)

    result = counterfoil(*asked)

    assert result.code == 0
    assert not set(result.out) & set("\x1b\x07\x9b")


def test_what_turns_letters_around_is_seen_as_such(
    counterfoil: Command, database: TestDatabase
) -> None:
    """A code told backwards would read as another one."""
    job = enqueue(database.connect(), "report", args={"\u202edeeccus\u2066": 1})

    told = counterfoil("job", job)
    document = counterfoil("job", job, "--json")

    assert "\ufffddeeccus\ufffd" in told.out
    assert "\\u202edeeccus\\u2066" in document.out
    assert document.document["args"] == ["\u202edeeccus\u2066"]


def test_text_of_two_lines_is_no_second_row(
    counterfoil: Command, database: TestDatabase
) -> None:
    connection = database.connect()
    job = enqueue(connection, "report")
    counterfoil("cancel", job, "--reason", "first\nsecond")

    told = counterfoil("job", job)

    assert "first second" in told.out


def test_a_refused_line_of_a_file_drives_no_terminal_either(
    counterfoil: Command, tmp_path: Path
) -> None:
    file = tmp_path / "orders.jsonl"
    file.write_text(json.dumps({EVIL: 1, "orderId": EVIL}) + "\n", "utf-8")

    result = counterfoil("settle", file)
    missing = counterfoil("why", EVIL)

    assert (result.code, missing.code) == (1, 1)
    assert not set(result.err + missing.err) & set("\x1b\x07\x9b")


def test_i13_one_event_that_nobody_can_read_hides_no_other(
    counterfoil: Command, database: TestDatabase
) -> None:
    connection = database.connect()
    enqueue(connection, "report", args={"fine": 1})
    job = enqueue(connection, "report")
    connection.execute(
        """
        INSERT INTO counterfoil.events
               (tenant_id, stream_id, version, type, schema, data, meta)
        SELECT tenant_id, stream_id, 2, 'job.succeeded', 1,
               jsonb_build_object('result', jsonb_build_object('x', 1e6000)), '{}'
          FROM counterfoil.events WHERE stream_id = %s
        """,
        (job,),
    )

    told = counterfoil("events", "--json")
    story = counterfoil("job", job)

    assert (told.code, story.code) == (0, 0)
    assert [each["type"] for each in told.documents] == [
        "job.enqueued",
        "job.enqueued",
        "job.succeeded",
    ]
    assert "unreadable" in told.documents[-1]["data"]
    assert told.documents[-1]["meta"]["actor"]["id"] == "unreadable"


@pytest.mark.parametrize(
    "arguments",
    [("why", "\udcff"), ("events", "--type", "\udcff"), ("jobs", "--kind", "\udcff")],
)
def test_an_argument_that_is_no_utf8_is_wrong_usage(
    arguments: tuple[str, ...], counterfoil: Command
) -> None:
    result = counterfoil(*arguments)

    assert result.code == 2
    assert "UTF-8" in result.complaint()


def test_an_output_of_another_alphabet_still_tells_everything(
    counterfoil: Command, database: TestDatabase
) -> None:
    enqueue(database.connect(), "report", correlationId="日本")

    result = counterfoil("job", _only(database), PYTHONIOENCODING="latin-1")

    assert result.code == 0
    assert "\\u65e5\\u672c" in result.out


def _only(database: TestDatabase) -> str:
    rows = database.connect().execute("SELECT stream_id::text FROM counterfoil.jobs")
    return str(rows.fetchall()[0][0])


def test_an_order_that_a_shop_is_thinking_over_holds_up_no_other(
    counterfoil: Command, database: TestDatabase, tmp_path: Path
) -> None:
    """I1: the rest of the file is settled; the held line is told, to be repeated."""
    orders = [
        {
            "orderId": f"o{n}",
            "customerId": "c",
            "kind": "purchase",
            "currency": "USD",
            "amountMinor": 1,
            "lines": [{"line": 1, "type": "access", "days": 30}],
        }
        for n in range(3)
    ]
    file = tmp_path / "orders.jsonl"
    file.write_text("".join(json.dumps(each) + "\n" for each in orders), "utf-8")
    shop = database.connect()
    with shop.transaction(force_rollback=True):
        shop.execute("SELECT counterfoil.settle_order(%s)", (json.dumps(orders[1]),))

        held = counterfoil("settle", file, "--json")

    again = counterfoil("settle", file, "--json")

    assert held.code == 1
    assert held.document["settled"] == 2
    assert [each["code"] for each in held.document["refused"]] == ["order_busy"]
    assert again.document["position"] > held.document["position"] > 0
    assert {**again.document, "position": 0} == {
        "settled": 1,
        "replayed": 2,
        "refused": [],
        "position": 0,
    }


def test_a_map_that_is_nested_without_end_is_refused_in_one_sentence(
    counterfoil: Command, tmp_path: Path
) -> None:
    file, deep = tmp_path / "orders.csv", tmp_path / "map.json"
    file.write_text("a\n1\n", "utf-8")
    deep.write_text('{"orderId": ' + "[" * 20_000 + "]" * 20_000 + "}", "utf-8")

    result = counterfoil("settle", file, "--map", deep)

    assert result.code == 1
    assert "no JSON object" in result.complaint()


def test_a_schema_that_is_not_whole_is_told_as_such(
    counterfoil: Command, database: TestDatabase
) -> None:
    database.connect().execute("DROP TABLE counterfoil.jobs CASCADE")

    result = counterfoil("jobs")

    assert result.code == 1
    assert "this schema is not whole" in result.complaint()
