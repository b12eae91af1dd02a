"""Whoever lets messages go is counted: at once, side by side, and before our time."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.rows import scalar_row

from infrastructure.postgres.database import connect
from infrastructure.postgres.migration_files import migrations_folder, read_migrations
from infrastructure.postgres.migrator import migrate
from tests.fixtures.database import TestDatabase
from tests.projections.outbox.conftest import DATA, TELL, Outbox

pytestmark = pytest.mark.database

SPANS = ("minute", "hour", "day", "ever")
GONE = "SELECT coalesce(sum(gone), 0)::int FROM counterfoil.outbox_gone WHERE span = %s"


def gone(connection: psycopg.Connection[Any], span: str = "ever") -> int:
    with connection.cursor(row_factory=scalar_row) as cursor:
        return int(cursor.execute(GONE, (span,)).fetchone() or 0)


def test_two_who_publish_side_by_side_never_wait_in_a_circle(
    database: TestDatabase, outbox: Outbox
) -> None:
    for topic in ("job.succeeded", "job.discarded"):
        for tenant in ("ann", "bob"):
            outbox.tell(topic, tenant=tenant, times=20)
    both = threading.Barrier(2)

    def publish(part: int) -> None:
        connection = database.connect()
        both.wait(30)
        order = "ASC" if part else "DESC"
        for _ in range(10):
            connection.execute(
                f"""
                UPDATE counterfoil.outbox SET published_at = counterfoil.now()
                 WHERE position IN (
                    SELECT position FROM counterfoil.outbox
                     WHERE position %% 2 = %s AND published_at IS NULL
                     ORDER BY position {order} LIMIT 5)
                """,  # noqa: S608 - one of two words
                (part,),
            )

    with ThreadPoolExecutor(2) as threads:
        for done in [threads.submit(publish, part) for part in (0, 1)]:
            done.result(60)

    assert outbox.now().pending_count == 0
    assert [gone(outbox.connection, span) for span in SPANS] == [80] * 4


def test_what_is_rolled_back_still_waits(outbox: Outbox) -> None:
    outbox.tell(times=3)

    with outbox.connection.transaction(force_rollback=True):
        outbox.publish()
        assert gone(outbox.connection) == 3

    assert gone(outbox.connection) == 0
    assert outbox.now().pending_count == 3


def test_marking_once_more_counts_nothing_twice(outbox: Outbox) -> None:
    outbox.tell(times=3)
    outbox.publish()

    outbox.connection.execute(
        "UPDATE counterfoil.outbox SET published_at = counterfoil.now(), data = '{}'"
    )
    outbox.connection.execute("DELETE FROM counterfoil.outbox")

    assert gone(outbox.connection) == 3


def test_what_had_gone_before_the_count_began_is_counted(
    empty_database: str, tmp_path: Path
) -> None:
    ours = read_migrations(migrations_folder())
    name = next(each.name for each in ours if "outbox_lag" in each.name)
    earlier = [each for each in ours if each.name < name]
    for each in earlier:
        (tmp_path / each.name).write_bytes(each.sql)
    migrate(empty_database, tmp_path)
    told = {
        "topic": "job.succeeded",
        "data": DATA["job.succeeded"],
        "times": 5,
        "ago": "1 hour",
        "apart": "1 second",
        "tenant": "default",
    }
    with connect(empty_database) as connection:
        connection.execute(TELL, told)
        connection.execute(
            "UPDATE counterfoil.outbox SET published_at = recorded_at + '7 s'"
            " WHERE position <= 2"
        )
        connection.execute("DELETE FROM counterfoil.outbox WHERE position IN (2, 5)")

        migrate(empty_database)

        assert [gone(connection, span) for span in SPANS] == [3] * 4
        longest = "SELECT max(longest_wait) = '7 s' FROM counterfoil.outbox_gone"
        assert connection.execute(longest).fetchall() == [(True,)]
