"""A small demo on the first real orders, and a check that notices every lie."""

import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path

import pytest

from infrastructure import embedded
from infrastructure.demo import DemoOptions, DemoResult, Orders, stage_demo
from infrastructure.demo.check import check
from infrastructure.postgres.database import Connection, connect
from tests.fixtures.workers import ROOT

pytestmark = [pytest.mark.crash, pytest.mark.timeout(240)]

FEW = 1200
OPTIONS = DemoOptions(
    workers=2, fault_rate=0.02, freeze_seconds=2, patience_seconds=200
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
    few = folder / "orders.csv"
    with (ROOT / "examples/cdnow_orders.csv").open() as orders:
        few.write_text("".join(islice(orders, FEW + 1)))
    source = Orders(file=few, map_file=ROOT / "examples/cdnow.json")
    return stage_demo(folder, source, OPTIONS, lambda _: None, lambda _: None)


def _forget_a_user(book: sqlite3.Connection) -> None:
    book.execute("DELETE FROM users WHERE id = (SELECT min(id) FROM users)")


def _shift_an_expiry(book: sqlite3.Connection) -> None:
    book.execute(
        """
        UPDATE users SET expire_at = substr(expire_at, 1, 20) || '999Z'
         WHERE id = (SELECT min(id) FROM users WHERE expire_at NOT LIKE '%.999Z')
        """
    )


def _limit_a_user(book: sqlite3.Connection) -> None:
    book.execute("UPDATE users SET hwid_device_limit = 3 WHERE id = 1")


def _hide_who_asked(book: sqlite3.Connection) -> None:
    book.execute("UPDATE requests SET request_id = 'somebody' WHERE seq = 1")


def _apply_twice(book: sqlite3.Connection) -> None:
    book.execute(
        """
        INSERT INTO requests (received_at, request_id, method, path, body, status,
                              applied, effect, answered)
        SELECT received_at, request_id, method, path, body, status, 1, effect, 1
          FROM requests WHERE applied = 1 LIMIT 1
        """
    )


def _write_without_an_attempt(book: sqlite3.Connection) -> None:
    book.execute(
        """
        UPDATE requests SET request_id = replace(request_id, '.1.', '.77.')
         WHERE seq = (SELECT min(seq) FROM requests
                       WHERE applied = 1 AND request_id LIKE '%.1._')
        """
    )


def _lose_what_was_applied(book: sqlite3.Connection) -> None:
    book.execute("UPDATE requests SET applied = 0, effect = NULL WHERE applied = 1")


LIES: dict[str, tuple[Callable[[sqlite3.Connection], None], str]] = {
    "a user is gone": (_forget_a_user, "customers"),
    "an expiry is off by milliseconds": (_shift_an_expiry, "customers"),
    "a user has a limit": (_limit_a_user, "customers"),
    "a request does not say who asked": (_hide_who_asked, "requests that name"),
    "a call was applied twice": (_apply_twice, "calls of an attempt"),
    "a write belongs to no attempt": (_write_without_an_attempt, "applied writes"),
    "nothing was applied": (_lose_what_was_applied, "succeeded operations"),
}


def test_orders_survive_a_kill_a_freeze_and_a_failing_panel(folder: Path) -> None:
    """I1, I2, I3: all fulfilled or dead with a reason; and every lie is noticed."""
    result = play(folder)

    assert [each for each in result.findings if each.disagreements] == []
    assert result.is_right
    assert dict(result.figures)["orders settled"] == f"{FEW:,}"
    assert result.findings[0].compared == FEW

    with embedded.serve(folder) as server, closing(connect(server.uri)) as log:
        for lie, (tell, question) in LIES.items():
            assert question in " ".join(_noticed(folder, log, tell)), lie
        missing = check(log, folder / "panel.sqlite", orders=FEW + 1)
        assert missing[0].disagreements == (f"{FEW} of {FEW + 1} orders were settled",)


def _noticed(
    folder: Path, log: Connection, tell: Callable[[sqlite3.Connection], None]
) -> list[str]:
    """Return the questions that disagree once a copy of the book tells a lie."""
    copy = folder / "lie.sqlite"
    shutil.copy(folder / "panel.sqlite", copy)
    with closing(sqlite3.connect(copy)) as book, book:
        tell(book)
    findings = check(log, copy, orders=FEW)
    return [each.question for each in findings if each.disagreements]
