"""Forward only, one at a time, each file whole (scenario S28)."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from infrastructure.errors import (
    ChangedMigrationError,
    ConfigurationError,
    MigrationBusyError,
    MigrationFailedError,
    SchemaTooNewError,
    SchemaTooOldError,
)
from infrastructure.postgres import migrator
from infrastructure.postgres.migration_files import migrations_folder, read_migrations
from infrastructure.postgres.migrator import check, migrate, require_current
from tests.fixtures.database import ON_BOTH_SERVERS
from tests.fixtures.workers import PATIENCE_S

pytestmark = pytest.mark.database

ROOT = Path(__file__).resolve().parents[2]
NAMES = ("0001_parcels.sql", "0002_places.sql", "0003_rules.sql")
WAITING = """
SELECT count(*) FROM pg_stat_activity
 WHERE datname = current_database() AND wait_event_type = 'Lock'
"""
AT_THE_LOCK = (
    "SELECT pg_advisory_xact_lock(hashtextextended('counterfoil.schema_migrations', 0))"
)


def entries(conninfo: str) -> list[tuple[object, ...]]:
    with psycopg.connect(conninfo) as connection:
        return connection.execute(
            "SELECT number, name, adopted FROM counterfoil.schema_migrations ORDER BY 1"
        ).fetchall()


def wait_until(happened: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not happened():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.01)


def in_threads(n: int, work: Callable[[], object]) -> list[threading.Thread]:
    threads = [threading.Thread(target=work) for _ in range(n)]
    for thread in threads:
        thread.start()
    return threads


def test_an_empty_database_gets_everything_once(
    empty_database: str, folder: Path
) -> None:
    first = migrate(empty_database, folder)
    second = migrate(empty_database, folder)

    assert (first.applied, first.done, first.adopted) == ((), NAMES, False)
    assert (second.applied, second.done, second.pending) == (NAMES, (), ())
    assert entries(empty_database) == [
        (number, name, False) for number, name in enumerate(NAMES, start=1)
    ]


def test_a_check_tells_what_is_pending_and_changes_nothing(
    empty_database: str, folder: Path
) -> None:
    report = check(empty_database, folder)

    assert (report.applied, report.pending, report.newest) == ((), NAMES, NAMES[-1])
    with psycopg.connect(empty_database) as connection:
        assert connection.execute(
            "SELECT to_regnamespace('counterfoil')"
        ).fetchone() == (None,)


def test_a_process_starts_on_exactly_its_schema(
    empty_database: str, folder: Path
) -> None:
    with pytest.raises(SchemaTooOldError) as refused:
        require_current(empty_database, folder)
    migrate(empty_database, folder)

    require_current(empty_database, folder)
    assert refused.value.pending == NAMES


def test_a_version_that_is_older_than_the_schema_refuses_to_start(
    empty_database: str, folder: Path
) -> None:
    migrate(empty_database, folder)
    (folder / NAMES[2]).unlink()

    for start in (require_current, migrate, check):
        with pytest.raises(SchemaTooNewError, match=r"0003_rules.*0002_places"):
            start(empty_database, folder)


def test_later_files_are_applied_to_what_is_there(
    empty_database: str, folder: Path
) -> None:
    later = (folder / NAMES[2]).read_text()
    (folder / NAMES[2]).unlink()
    migrate(empty_database, folder)
    (folder / NAMES[2]).write_text(later)

    report = migrate(empty_database, folder)

    assert (report.applied, report.done) == (NAMES[:2], NAMES[2:])


def test_a_file_that_changed_after_it_was_applied_is_named(
    empty_database: str, folder: Path
) -> None:
    migrate(empty_database, folder)
    with (folder / NAMES[1]).open("a") as file:
        file.write("-- a comment is a change, too\n")

    for start in (require_current, migrate, check):
        with pytest.raises(ChangedMigrationError, match="0002_places"):
            start(empty_database, folder)


def test_a_renamed_file_is_named(empty_database: str, folder: Path) -> None:
    migrate(empty_database, folder)
    (folder / NAMES[1]).rename(folder / "0002_other.sql")

    with pytest.raises(ChangedMigrationError, match=r"0002_places\.sql was applied"):
        migrate(empty_database, folder)


def test_line_ends_of_a_checkout_are_no_change(
    empty_database: str, folder: Path
) -> None:
    migrate(empty_database, folder)
    text = (folder / NAMES[1]).read_bytes()
    (folder / NAMES[1]).write_bytes(text.replace(b"\n", b"\r\n"))

    require_current(empty_database, folder)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("0005_gap.sql", "number 0004 is due"),
        ("0003_twice.sql", "number 0004 is due"),
        ("4_short.sql", "is not named"),
        ("0004-dash.sql", "is not named"),
    ],
)
def test_numbers_have_no_gap_and_no_twin(folder: Path, name: str, told: str) -> None:
    (folder / name).touch()

    with pytest.raises(ConfigurationError, match=told):
        read_migrations(folder)


def test_a_folder_without_migrations_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="no migrations"):
        read_migrations(tmp_path)


def test_a_refused_file_leaves_nothing_and_is_named(
    empty_database: str, folder: Path
) -> None:
    right = (folder / NAMES[1]).read_text()
    (folder / NAMES[1]).write_text(right + "SELECT 1;\nSELEKT 2;\n")

    with pytest.raises(MigrationFailedError, match=r"0002_places.*line 7.*SELEKT"):
        migrate(empty_database, folder)

    assert entries(empty_database) == [(1, NAMES[0], False)]
    with psycopg.connect(empty_database) as connection:
        row = connection.execute("SELECT to_regclass('counterfoil.light')").fetchone()
    assert row == (None,)
    (folder / NAMES[1]).write_text(right)
    assert migrate(empty_database, folder).done == NAMES[1:]


def test_two_migrators_at_once_apply_each_file_once(
    empty_database: str, folder: Path
) -> None:
    done: list[str] = []
    with (
        psycopg.connect(empty_database) as holder,
        psycopg.connect(empty_database, autocommit=True) as watcher,
    ):
        holder.execute(AT_THE_LOCK)
        both = in_threads(2, lambda: done.extend(migrate(empty_database, folder).done))
        wait_until(lambda: watcher.execute(WAITING).fetchone() == (2,))
        holder.rollback()
    for thread in both:
        thread.join()

    assert sorted(done) == list(NAMES)
    assert [number for number, _, _ in entries(empty_database)] == [1, 2, 3]


def test_a_migrator_that_finds_another_at_work_gives_up_in_a_sentence(
    empty_database: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrator, "TRIES", 1)
    with psycopg.connect(empty_database) as holder:
        holder.execute(AT_THE_LOCK)
        begun = time.monotonic()
        with pytest.raises(MigrationBusyError, match="another migrator"):
            migrate(empty_database, folder)

    assert time.monotonic() - begun > 1.5
    assert migrate(empty_database, folder).done == NAMES


def test_a_table_in_use_is_waited_for_two_seconds_at_a_time(
    empty_database: str, folder: Path
) -> None:
    """So nobody stands in the queue behind a waiting ALTER TABLE for longer."""
    second = (folder / NAMES[1]).read_text()
    for name in NAMES[1:]:
        (folder / name).unlink()
    migrate(empty_database, folder)
    (folder / NAMES[1]).write_text(second)
    with psycopg.connect(empty_database) as reader:
        reader.execute("SELECT * FROM counterfoil.parcels")
        (waiter,) = in_threads(1, lambda: migrate(empty_database, folder))
        with psycopg.connect(empty_database, autocommit=True) as watcher:
            wait_until(lambda: watcher.execute(WAITING).fetchone() == (1,))
            wait_until(lambda: watcher.execute(WAITING).fetchone() == (0,))
            assert watcher.execute("SELECT * FROM counterfoil.parcels").fetchall() == []
        reader.rollback()
    waiter.join()

    assert check(empty_database, folder).pending == ()


@pytest.mark.crash
def test_a_killed_migrator_is_simply_run_again(
    empty_database: str, folder: Path
) -> None:
    second = (folder / NAMES[1]).read_text()
    (folder / NAMES[1]).write_text(second + "SELECT pg_sleep(600);\n")
    code = (
        "import sys; from pathlib import Path\n"
        "from infrastructure.postgres.migrator import migrate\n"
        "migrate(sys.argv[1], Path(sys.argv[2]))"
    )
    killed = subprocess.Popen(
        [sys.executable, "-c", code, empty_database, folder],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    with psycopg.connect(empty_database, autocommit=True) as watcher:
        asleep = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
        wait_until(lambda: watcher.execute(asleep).fetchone() == (1,))
    killed.kill()
    killed.wait()
    (folder / NAMES[1]).write_text(second)

    report = migrate(empty_database, folder)

    assert (report.applied, report.done) == (NAMES[:1], NAMES[1:])


@ON_BOTH_SERVERS
def test_every_number_of_ours_applies_on_the_previous(
    empty_database: str, tmp_path: Path
) -> None:
    ours = read_migrations(migrations_folder())
    for migration in ours:
        (tmp_path / migration.name).write_bytes(migration.sql)
        assert migrate(empty_database, tmp_path).done == (migration.name,)

    require_current(empty_database)


def test_a_checkout_reads_its_own_migrations() -> None:
    assert migrations_folder() == ROOT / "migrations"
