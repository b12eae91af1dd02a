"""A small demo on the first real orders, and a check that notices every lie."""

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

import pytest
from psycopg import sql

from infrastructure import embedded
from infrastructure.demo import DemoOptions, DemoResult, Orders, stage_demo
from infrastructure.demo.check import check
from infrastructure.demo.diary import Diary
from infrastructure.demo.people.reader import Reader
from infrastructure.postgres.database import Connection, Database, connect
from tests.demo.goods_lies import GOODS_LIES
from tests.demo.lies import LIES, Lie, told
from tests.demo.untrue_answers import FOLDS, UNTRUE_ANSWERS
from tests.fixtures.processes import ROOT

pytestmark = [pytest.mark.crash, pytest.mark.long, pytest.mark.timeout(400)]

FEW = 800
HURRY = 3
"""So many times as fast as the machine's is the database's clock: leases end sooner,
and a beat each 15 s still keeps one of 60 s."""
HURRIED = """
CREATE OR REPLACE FUNCTION counterfoil.now() RETURNS timestamptz
LANGUAGE sql STABLE PARALLEL SAFE
AS $$ SELECT {began}::timestamptz
             + {hurry} * (clock_timestamp() - {began}::timestamptz) $$
"""
LIVE = "SELECT name, live FROM counterfoil.projections ORDER BY name"
ONE_ROW_LESS = "DELETE FROM {table} WHERE ctid = (SELECT min(ctid) FROM {table})"
OPTIONS = DemoOptions(
    workers=2, fault_rate=0.02, freeze_seconds=2, patience_seconds=300
)


@pytest.fixture
def folder() -> Iterator[Path]:
    # Not pytest's own folder: as root, the server's account could not enter it.
    folder = Path(tempfile.mkdtemp(prefix="counterfoil-test-"))
    folder.chmod(0o711)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def play(folder: Path) -> DemoResult:
    few = folder / "few.csv"
    with (ROOT / "examples/cdnow_orders.csv").open() as orders:
        few.write_text("".join(islice(orders, FEW + 1)))
    source = Orders(file=few, map_file=ROOT / "examples/cdnow.json")

    def tell(sentence: str) -> None:
        if "embedded PostgreSQL" in sentence:  # migrated, and nobody has come yet
            hurry(folder)

    return stage_demo(folder, source, OPTIONS, tell, lambda _: None)


def hurry(folder: Path) -> None:
    """Let the database's clock run ahead from now on."""
    with embedded.serve(folder) as server, closing(connect(server.uri)) as connection:
        now = sql.Literal(datetime.now(UTC))
        connection.execute(sql.SQL(HURRIED).format(began=now, hurry=sql.Literal(HURRY)))


def test_orders_survive_kills_a_freeze_a_window_and_a_failing_panel(
    folder: Path,
) -> None:
    """I1, I2, I3, I9: the books agree with the people; and every lie is noticed."""
    result = play(folder)

    assert [each for each in result.findings if each.disagreements] == []
    assert result.is_right
    assert dict(result.figures)["orders settled"] == f"{FEW:,}"
    assert result.findings[0].compared == FEW
    _all_that_people_do_was_done(result.diary)

    with embedded.serve(folder) as server, closing(connect(server.uri)) as log:
        for name, (lie, question) in (LIES | GOODS_LIES | UNTRUE_ANSWERS).items():
            noticed = _noticed(folder, log, result.diary, lie)
            assert question in " ".join(noticed), name
        _a_row_that_is_wrong_is_noticed(folder, server.uri, result.diary)


def _all_that_people_do_was_done(diary: Diary) -> None:
    operations = {each.operation for each in diary.asked.values()}
    assert operations == {
        "extend", "set_limits", "set_squads", "enable", "disable", "reset_traffic",
        "pause", "resume", "reconcile",
    }  # fmt: skip
    assert {each.operator for each in diary.asked.values()} == {"anna", "boris"}
    assert {each.kind for each in diary.edits} == {
        "missing_remote", "expiry", "traffic", "device_limit", "squads", "status",
    }  # fmt: skip
    assert "pause" in {each.operation for each in diary.refused}
    assert len(diary.refunds) == 2
    assert any(each.is_hopeless for each in diary.asked.values())
    window = diary.window
    assert window is not None
    assert window.held > 0
    assert window.settled > 0


def _a_row_that_is_wrong_is_noticed(folder: Path, uri: str, diary: Diary) -> None:
    """Of each read model: one row is lost, for good; only a comparison tells."""
    with Database(uri, pool_size=4) as database, database.connection() as connection:
        for name, live in connection.execute(LIVE).fetchall():
            table = sql.Identifier("counterfoil", f"read_{name}_{live}")
            connection.execute(sql.SQL(ONE_ROW_LESS).format(table=table))
        answers = Reader.over(database).answers()
        changed = replace(diary, answers=answers)
        books = (folder / "panel.sqlite", folder / "gateway.sqlite")
        findings = check(connection, *books, changed)
    (finding,) = (each for each in findings if FOLDS in each.question)
    assert finding.disagreements == tuple(
        f"{name}: 1 of {compared.rows} rows differ"
        for name, compared in answers.compared.items()
    )


def _noticed(folder: Path, log: Connection, diary: Diary, lie: Lie) -> list[str]:
    """Return the questions that disagree once copies of the books tell a lie."""
    panel, gateway = folder / "lie.sqlite", folder / "gateway_lie.sqlite"
    shutil.copy(folder / "panel.sqlite", panel)
    shutil.copy(folder / "gateway.sqlite", gateway)
    with closing(sqlite3.connect(panel)) as book, log.transaction(force_rollback=True):
        book.execute("ATTACH ? AS gateway", (str(gateway),))
        with book:
            lied = told(log, book, diary, lie)
        findings = check(log, panel, gateway, lied)
    return [each.question for each in findings if each.disagreements]
