"""`up`, `worker` and `migrate`: how they start, what they say, how they end."""

import base64
import json
import signal
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from tests.api.command import Command, panel_settings
from tests.fixtures.database import TestDatabase
from tests.fixtures.processes import ROOT

pytestmark = pytest.mark.database

READY = '"event": "worker started"'
NO_PANEL = "COUNTERFOIL_REMNAWAVE_URL and COUNTERFOIL_REMNAWAVE_TOKEN"


def test_a_worker_stops_politely_on_the_first_signal(counterfoil: Command) -> None:
    worker = counterfoil.start("worker")
    worker.wait_for(READY)

    result = worker.stop()

    assert result.code == 0
    told = [json.loads(line)["event"] for line in result.err.splitlines()]
    # What it had led by then it leaves in between.
    assert [each for each in told if each.endswith(" stopped")] == [
        "worker stopped",
        "projecting stopped",
    ]


def test_without_a_panel_a_worker_says_so_once_and_leaves_its_jobs_alone(
    counterfoil: Command, database: TestDatabase
) -> None:
    worker = counterfoil.start("worker")
    worker.wait_for(READY)
    connection = database.connect()

    result = worker.stop(signal.SIGINT)

    assert result.code == 0
    assert result.out.count(NO_PANEL) == 1
    lines = [json.loads(line) for line in result.err.splitlines()]
    told = [line["event"] for line in lines]
    assert told.count("digital goods delivery disabled") == 1
    (kinds,) = connection.execute("SELECT kinds FROM counterfoil.workers").fetchall()
    own = ["order_fanout", "order_refund", "order_completion", "bulk_operation"]
    assert kinds == (own,)


KEYS = f"k1:{base64.b64encode(bytes(range(32))).decode()}"


def test_with_a_panel_and_a_key_ring_nothing_is_missing(
    counterfoil: Command, database: TestDatabase
) -> None:
    worker = counterfoil.start(
        "worker",
        "--json",
        **panel_settings("http://127.0.0.1:9"),
        COUNTERFOIL_DATA_ENCRYPTION_KEYS=KEYS,
    )
    told = json.loads(worker.wait_for('"database"'))
    worker.wait_for(READY)
    result = worker.stop()

    assert told["missing"] == []
    assert "digital goods delivery disabled" not in result.err
    assert told["database"] == "given"
    assert told["url"] is None
    connection = database.connect()
    ((kinds,),) = connection.execute("SELECT kinds FROM counterfoil.workers").fetchall()
    access = {"fulfillment", "order_fanout", "order_refund", "order_completion"}
    goods = {"goods_delivery", "goods_reconcile"}
    assert set(kinds) == access | goods | {"bulk_operation"}


def test_a_given_database_is_listened_to_where_the_setting_says(
    counterfoil: Command, database: TestDatabase
) -> None:
    """The other address may lead through a pooler, which passes no notices on."""
    polling = counterfoil.start("worker")
    polling.wait_for(READY)
    assert '"notices' not in polling.stop().err

    woken = counterfoil.start("worker", COUNTERFOIL_LISTEN_URL=database.url)
    woken.wait_for('"event": "notices heard"')
    assert woken.stop().code == 0


def test_the_embedded_database_is_always_listened_to(nowhere: Command) -> None:
    up = nowhere.start("up", "--ephemeral")
    up.wait_for('"event": "notices heard"')
    assert up.stop().code == 0


def test_a_second_signal_ends_the_process_at_once(
    counterfoil: Command, database: TestDatabase
) -> None:
    """The worker is held up: the row by which it says good-bye is locked."""
    worker = counterfoil.start("worker")
    worker.wait_for(READY)
    holder = database.connect()
    with holder.transaction():
        holder.execute("LOCK TABLE counterfoil.workers IN EXCLUSIVE MODE")
        worker.send(signal.SIGTERM)
        worker.wait_for('"event": "worker stopping"')

        result = worker.stop(signal.SIGTERM)

    assert result.code == -signal.SIGTERM


def test_up_brings_an_empty_database_up_to_date_and_works(
    nowhere: Command, empty_database: str
) -> None:
    up = nowhere.start("up", COUNTERFOIL_DATABASE_URL=empty_database)
    up.wait_for(READY)
    result = up.stop()

    assert result.code == 0
    assert "applied 0001_log.sql" in result.out
    assert "database: the one of COUNTERFOIL_DATABASE_URL" in result.out


def test_an_ephemeral_database_is_said_loudly_and_others_reach_it(
    nowhere: Command,
) -> None:
    up = nowhere.start("up", "--ephemeral", "--json")
    told = json.loads(up.wait_for('"database"'))
    up.wait_for(READY)

    other = nowhere("jobs", "--json", COUNTERFOIL_DATABASE_URL=told["url"])
    home = Path(told["home"])
    stopped = up.stop()

    assert told["ephemeral"] is True
    assert any("nothing is durable" in notice for notice in told["notices"])
    assert (other.code, other.err) == (0, "")
    assert stopped.code == 0
    assert not home.exists()


def test_the_ephemeral_database_is_said_loudly_to_a_person(nowhere: Command) -> None:
    up = nowhere.start("up", "--ephemeral")
    up.wait_for(READY)
    result = up.stop()

    assert "NOT durable" in result.out
    assert "EPHEMERAL DATABASE: nothing is durable" in result.out
    assert "COUNTERFOIL_DATABASE_URL=" in result.out


@pytest.mark.parametrize("arguments", [["worker"], ["jobs"], ["why", "x"], ["events"]])
def test_a_database_without_the_schema_is_refused_with_the_remedy(
    nowhere: Command, empty_database: str, arguments: list[str]
) -> None:
    result = nowhere(*arguments, COUNTERFOIL_DATABASE_URL=empty_database)

    assert result.code == 1
    assert "run `counterfoil migrate`" in result.complaint()


def test_a_newer_schema_is_refused_by_every_command(
    counterfoil: Command, database: TestDatabase
) -> None:
    database.connect().execute(
        """
        INSERT INTO counterfoil.schema_migrations
        SELECT number + 1, '9999_later.sql', checksum, applied_at, adopted
          FROM counterfoil.schema_migrations ORDER BY number DESC LIMIT 1
        """
    )

    for command in ("worker", "up", "jobs"):
        result = counterfoil(command)
        assert result.code == 1
        assert "9999_later.sql" in result.complaint()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (
            "COUNTERFOIL_DATABASE_URL",
            "postgresql://x@127.0.0.1:1/none?connect_timeout=3",
        ),
        ("COUNTERFOIL_DATABASE_URL", "not a url"),
        ("COUNTERFOIL_QUEUE_CRITICAL", "many"),
        ("COUNTERFOIL_REMNAWAVE_URL", "panel"),
    ],
)
def test_a_wrong_setting_is_one_sentence_with_its_name_or_the_reason(
    counterfoil: Command, name: str, value: str
) -> None:
    result = counterfoil("worker", **{name: value})

    assert result.code == 1
    complaint = result.complaint()
    assert name in complaint or "the database is not available" in complaint


def test_a_password_is_in_no_message(counterfoil: Command) -> None:
    """I12."""
    url = "postgresql://x:hunter2secret@127.0.0.1:1/none"

    result = counterfoil("up", COUNTERFOIL_DATABASE_URL=url)

    assert result.code == 1
    assert "hunter2secret" not in result.out + result.err


def test_rights_that_are_missing_are_told_in_one_sentence(
    counterfoil: Command, database: TestDatabase
) -> None:
    connection = database.connect()
    connection.execute("CREATE ROLE weak LOGIN")
    try:
        url = database.url.replace("postgres@", "weak@")
        url += "&user=weak"
        result = counterfoil("jobs", COUNTERFOIL_DATABASE_URL=url)
    finally:
        connection.execute("DROP ROLE weak")

    assert result.code == 1
    assert "permission denied" in result.complaint()


def test_migrate_checks_and_migrates(nowhere: Command, empty_database: str) -> None:
    def migrate(*arguments: str) -> tuple[int, dict[str, object]]:
        told = nowhere(
            "migrate", *arguments, "--json", COUNTERFOIL_DATABASE_URL=empty_database
        )
        return told.code, told.document

    code, before = migrate("--check")
    assert (code, bool(before["pending"]), before["done"]) == (1, True, [])
    code, done = migrate()
    assert (code, done["done"], done["pending"]) == (0, before["pending"], [])
    code, after = migrate("--check")
    assert (code, after["pending"]) == (0, [])


def test_migrate_tells_a_person_what_it_did(
    nowhere: Command, empty_database: str
) -> None:
    settings = {"COUNTERFOIL_DATABASE_URL": empty_database}

    pending = nowhere("migrate", "--check", **settings)
    done = nowhere("migrate", **settings)

    assert pending.code == 1
    assert "pending: 0001_log.sql" in pending.out
    assert done.code == 0
    assert "applied 0001_log.sql" in done.out
    with psycopg.connect(empty_database) as connection:
        assert connection.execute("SELECT counterfoil.horizon()").fetchone() == (0,)


DIES = """
import threading
from infrastructure.lifetime import work_until_stopped
from infrastructure.telemetry import listen, show

class Worker:
    def start(self):
        def die():
            raise ValueError("secret of the provider")
        threading.Thread(target=die, name="claim").start()

    def stop(self):
        raise AssertionError

with listen(show):
    work_until_stopped(Worker())
"""


def test_a_thread_that_dies_ends_the_process_with_70_and_tells_no_secret() -> None:
    """Better no worker than half of one, which nobody would miss."""
    done = subprocess.run(
        [sys.executable, "-c", DIES],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 70
    told = json.loads(done.stderr)
    assert (told["event"], told["thread"], told["error"]) == (
        "thread died",
        "claim",
        "ValueError",
    )
    assert "secret" not in done.stderr
