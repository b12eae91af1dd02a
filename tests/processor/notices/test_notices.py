"""Mechanisms 15: an idle worker is woken, a busy one is not, and polling is enough."""

import threading
from datetime import UTC, datetime
from functools import partial
from typing import Any

import psycopg
import pytest

from application.context import Context
from domain.jobs.outcome import Completed, Outcome, Snooze
from infrastructure.ids import new_id
from infrastructure.postgres.database import Database
from infrastructure.processor.notices.heard import Notices
from infrastructure.processor.notices.listener import Listener
from infrastructure.processor.notices.sign import IdleSign
from infrastructure.telemetry import listen
from tests.fixtures.database import ON_BOTH_SERVERS, TestDatabase
from tests.fixtures.notices import heard, listening, rests, signs
from tests.fixtures.workers import (
    Args,
    Events,
    enqueue,
    history,
    is_over,
    kind,
    until,
    worker_here,
)
from tests.processor.rig import NOOP

pytestmark = [ON_BOTH_SERVERS, pytest.mark.usefixtures("heads_equal_folds")]

type Connection = psycopg.Connection[Any]

NEVER = (600.0, 600.0, 600.0)
"""Polling intervals that no test lives to see."""

END_LISTENER = """
SELECT pg_terminate_backend(pid)
  FROM pg_stat_activity
 WHERE datname = current_database() AND application_name = 'counterfoil notices'
"""
SAY_LONG_AGO = """
INSERT INTO counterfoil.idle_signs (until, boot, queues)
VALUES (counterfoil.now() - interval '2 minutes', gen_random_uuid(), '{default}')
"""
KEYS = "SELECT until FROM counterfoil.idle_signs"


def by_notice(database: TestDatabase) -> dict[str, Any]:
    """Options of a worker that finds nothing unless it is woken."""
    return {
        "listen_url": database.conninfo,
        "poll_seconds": NEVER,
        "idle_sign_seconds": 3600.0,
    }


def test_a_notice_alone_is_enough(database: TestDatabase) -> None:
    connection = database.connect()

    with worker_here(database, NOOP, **by_notice(database)):
        for queue in ("default", "critical", "bulk"):
            until(partial(rests, connection))
            enqueue(connection, "noop", queue=queue)
            until(partial(is_over, connection))


def test_a_notice_is_only_a_hint(database: TestDatabase) -> None:
    """What nobody was told of is found by polling."""
    connection = database.connect()

    with worker_here(database, NOOP, listen_url=database.conninfo):
        until(partial(rests, connection))
        enqueue(connection, "noop", notify=False)
        until(partial(is_over, connection))


def test_a_birth_just_before_the_sign_is_found_by_the_second_look(
    database: TestDatabase,
) -> None:
    connection, gate = database.connect(), database.connect()
    gate.execute("BEGIN")
    gate.execute("LOCK counterfoil.idle_signs IN SHARE MODE")

    with worker_here(database, NOOP, **by_notice(database)):
        until(lambda: blocked_by(connection, gate))
        enqueue(connection, "noop")
        assert history_of_all(connection) == ["job.enqueued"]
        gate.execute("COMMIT")
        until(partial(is_over, connection))


def blocked_by(connection: Connection, gate: Connection) -> list[Any]:
    return connection.execute(
        "SELECT pid FROM pg_stat_activity WHERE %s = ANY (pg_blocking_pids(pid))",
        [gate.info.backend_pid],
    ).fetchall()


def history_of_all(connection: Connection) -> list[str]:
    rows = connection.execute("SELECT type FROM counterfoil.events ORDER BY position")
    return [row[0] for row in rows]


def test_a_birth_that_saw_no_sign_and_commits_after_it_is_found_by_polling(
    database: TestDatabase,
) -> None:
    connection, shop = database.connect(), database.connect()
    listener = listening(database)
    shop.execute("BEGIN")
    job = enqueue(shop, "noop")

    with worker_here(database, NOOP, listen_url=database.conninfo):
        until(partial(rests, connection))
        shop.execute("COMMIT")
        until(lambda: history(connection, job)[-1] == "succeeded")

    assert "default" not in heard(listener, connection)


def test_who_is_idle_says_so_until_he_stops(database: TestDatabase) -> None:
    connection = database.connect()

    with worker_here(database, NOOP, listen_url=database.conninfo):
        until(partial(rests, connection))
        assert signs(connection) == [["bulk", "critical", "default"]]

    assert connection.execute(KEYS).fetchall() == []


def test_a_sign_is_renewed_while_nothing_happens(database: TestDatabase) -> None:
    connection = database.connect()
    seen: set[object] = set()

    def has_seen_three() -> bool:
        seen.update(row[0] for row in connection.execute(KEYS))
        return len(seen) >= 3

    options = by_notice(database) | {"idle_sign_seconds": 0.2}
    with worker_here(database, NOOP, **options):
        until(has_seen_three)


def test_nobody_is_idle_who_does_not_listen(database: TestDatabase) -> None:
    listener, connection = listening(database), database.connect()

    with worker_here(database, NOOP):
        for _ in range(3):
            enqueue(connection, "noop")
            until(partial(is_over, connection))

    assert heard(listener, connection) == []


def test_a_woken_worker_without_work_is_idle_no_more_for_a_moment(
    database: TestDatabase,
) -> None:
    """So that notices are few, even for those that another process is faster than."""
    connection = database.connect()

    with worker_here(database, NOOP, **by_notice(database)):
        until(partial(rests, connection))
        before = connection.execute(KEYS).fetchall()
        connection.execute("NOTIFY counterfoil_due, 'bulk'")
        until(partial(rests_again, connection, before))


def rests_again(connection: Connection, before: object) -> bool:
    return rests(connection) and connection.execute(KEYS).fetchall() != before


def test_births_while_a_worker_is_busy_wake_nobody(database: TestDatabase) -> None:
    """NOTIFY serialises commits: a queue that is worked off needs none."""
    connection = database.connect()
    go_on = threading.Event()

    def wait(_args: Args, _ctx: Context) -> Outcome:
        go_on.wait(30)
        return Completed()

    queues = {"critical": 1, "default": 1}
    waiting = kind("waiting", wait)
    with worker_here(database, waiting, queues=queues, listen_url=database.conninfo):
        first, second = (enqueue(connection, "waiting") for _ in range(2))
        until(
            lambda: len(history(connection, first) + history(connection, second)) == 4
        )
        until(lambda: signs(connection) == [["critical"]])
        listener = listening(database)
        for _ in range(200):
            enqueue(connection, "waiting")
        assert heard(listener, connection) == []
        go_on.set()
        until(partial(is_over, connection))


def test_a_drain_is_begun_by_one_notice(database: TestDatabase) -> None:
    connection = database.connect()

    with worker_here(database, NOOP, listen_url=database.conninfo):
        until(partial(rests, connection))
        listener = listening(database)
        connection.execute(
            """
            SELECT counterfoil.enqueue('{"kind": "noop"}')
              FROM generate_series(1, 1000)
            """
        )
        until(partial(is_over, connection))

    assert heard(listener, connection) == ["default"]


def test_a_worker_whose_listener_is_killed_polls_and_listens_again(
    database: TestDatabase,
) -> None:
    connection = database.connect()

    with worker_here(database, NOOP, listen_url=database.conninfo) as (_, events):
        until(partial(rests, connection))
        assert connection.execute(END_LISTENER).fetchall() == [(True,)]
        enqueue(connection, "noop")
        until(partial(is_over, connection))
        events.wait_for("notices lost the database")
        events.wait_for("notices heard", n=2)
        until(partial(rests, connection))


def test_an_address_that_hears_nothing_is_told_and_never_believed(
    database: TestDatabase,
) -> None:
    """Such as another database, or a pooler that gives connections away."""
    events, connection = Events(), database.connect()
    elsewhere = database.conninfo.replace(connection.info.dbname, "postgres")
    notices = Notices(lambda: None)
    with (
        listen(events.add),
        Database(database.conninfo, pool_size=1) as pool,
    ):
        listener = Listener(pool, elsewhere, ["default"], notices)
        listener.hello_seconds = 0.01
        listener.start()
        try:
            events.wait_for("notices unheard")
            assert not notices.are_heard
        finally:
            listener.stop()
    assert not events.of("notices heard")


def test_signs_of_processes_that_are_gone_are_swept(database: TestDatabase) -> None:
    connection = database.connect()
    connection.execute(SAY_LONG_AGO)

    with worker_here(database, NOOP, listen_url=database.conninfo):
        until(partial(rests, connection))

        assert len(connection.execute(KEYS).fetchall()) == 1


def test_a_sign_said_over_a_lost_connection_is_said_again(
    database: TestDatabase,
) -> None:
    """A server that crashed has emptied the table."""
    connection = database.connect()
    notices = Notices(lambda: None)
    notices.set_heard(are_heard=True)
    sign = IdleSign(new_id(), notices)
    until(lambda: sign.keep(connection, ["default"]))
    assert not sign.keep(connection, ["default"])
    connection.execute("TRUNCATE counterfoil.idle_signs")

    sign.begin()

    assert sign.keep(connection, ["default"])
    assert signs(connection) == [["default"]]


def test_who_has_no_free_slot_is_not_idle(database: TestDatabase) -> None:
    """And does not come back for it at once, again and again."""
    connection = database.connect()
    notices = Notices(lambda: None)
    notices.set_heard(are_heard=True)
    sign = IdleSign(new_id(), notices)
    until(lambda: sign.keep(connection, ["default"]))

    assert not sign.keep(connection, [])

    assert signs(connection) == []
    assert sign.due_in() == float("inf")


def test_what_our_own_settling_made_due_needs_neither_notice_nor_poll(
    database: TestDatabase,
) -> None:
    connection = database.connect()
    begun: list[int] = []

    def snooze_first(_args: Args, ctx: Context) -> Outcome:
        begun.append(ctx.attempt)
        now = Snooze(until=datetime(2000, 1, 1, tzinfo=UTC))
        return now if len(begun) == 1 else Completed()

    job = enqueue(connection, "snoozing")
    with worker_here(database, kind("snoozing", snooze_first), poll_seconds=NEVER):
        until(partial(is_over, connection))

    assert history(connection, job) == [
        "enqueued", "claimed", "snoozed", "claimed", "succeeded",
    ]  # fmt: skip
