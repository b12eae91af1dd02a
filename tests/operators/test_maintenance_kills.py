"""SIGKILL of an operator's command at its COMMIT: whole or not at all, then again."""

import signal
from collections.abc import Iterator

import pytest

from tests.api.command import Command
from tests.fixtures.database import TestDatabase
from tests.fixtures.folds import assert_heads_equal_folds
from tests.fixtures.proxy import Proxy

pytestmark = [pytest.mark.crash, pytest.mark.timeout(120)]

OPEN = (
    *("maintenance", "open", "--reason", "the panel moves"),
    *("--notice-ru", "Идут работы", "--notice-en", "We are at work"),
)
CLOSE = ("maintenance", "close", "--reason", "the panel is back")


@pytest.fixture
def operator(database: TestDatabase) -> Iterator[Command]:
    command = Command(COUNTERFOIL_DATABASE_URL=database.url, COUNTERFOIL_OPERATOR="ann")
    try:
        yield command
    finally:
        command.close()


def tags(database: TestDatabase) -> list[str]:
    rows = database.connect().execute(
        "SELECT type FROM counterfoil.events"
        " WHERE type <> 'operator.action_taken' ORDER BY position"
    )
    return [row[0] for row in rows]


def records(database: TestDatabase) -> int:
    """Return how many actions are on record: each that was answered, or would be."""
    rows = database.connect().execute(
        "SELECT count(*) FROM counterfoil.events WHERE type = 'operator.action_taken'"
    )
    return int(rows.fetchall()[0][0])


@pytest.mark.parametrize("is_committed", [False, True])
@pytest.mark.parametrize("verb", ["opened", "closed"])
def test_a_killed_command_is_repeated_to_the_same_end(
    database: TestDatabase,
    proxy: Proxy,
    operator: Command,
    verb: str,
    *,
    is_committed: bool,
) -> None:
    before = [] if verb == "opened" else ["maintenance.opened"]
    if before:
        assert operator(*OPEN).code == 0
    command = OPEN if verb == "opened" else CLOSE
    hold = proxy.hold_commit_answer if is_committed else proxy.hold_before_commit
    plan = hold(of=f"maintenance.{verb}")

    killed = operator.start(*command, COUNTERFOIL_DATABASE_URL=proxy.conninfo)
    plan.wait()
    killed.stop(signal.SIGKILL)
    proxy.close_all()

    repeated = operator(*command)
    assert repeated.code == 0
    assert tags(database) == [*before, f"maintenance.{verb}"]
    assert ("nothing to do" in repeated.out) == is_committed
    assert_heads_equal_folds(database.connect())
    assert records(database) == (2 if is_committed else 1) + len(before)
