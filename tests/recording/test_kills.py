"""SIGKILL on either side of a COMMIT: row and record are both there, or neither is."""

import os
from pathlib import Path

import pytest

from tests.fixtures.processes import ROOT, start
from tests.fixtures.proxy import Plan, Proxy
from tests.recording.deeds import DEEDS, World

pytestmark = [pytest.mark.crash, pytest.mark.timeout(150)]


def kill_at(plan: Plan, action: str, proxy: Proxy, log: Path) -> None:
    """Let a process of its own come so far, and end it there."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    line = [action, proxy.conninfo]
    with log.open("w") as file:
        process = start(
            "tests.recording.deeds",
            line,
            environment=environment,
            stdout=file,
            stderr=file,
        )
    try:
        plan.wait(60)
    finally:
        process.kill()
        process.wait(60)
    proxy.close_all()


@pytest.mark.parametrize("action", DEEDS)
def test_whoever_dies_at_its_commit_has_done_all_of_it_or_nothing(
    world: World, proxy: Proxy, action: str, tmp_path: Path
) -> None:
    rows, on_record = world.rows(), world.actions()

    kill_at(proxy.hold_before_commit(of=action), action, proxy, tmp_path / "before")

    assert (world.rows(), world.actions()) == (rows, on_record)

    kill_at(proxy.hold_commit_answer(of=action), action, proxy, tmp_path / "after")

    assert world.rows() != rows
    assert world.actions() == [*on_record, action]
