"""A worker whose output nobody takes works all the same."""

import os
import shlex
import signal
import subprocess
import sys

import pytest

from tests.fixtures.database import TestDatabase
from tests.fixtures.processes import ROOT
from tests.fixtures.workers import enqueue, is_over, until

pytestmark = pytest.mark.database

WAYS = ["2>&-", "<&- >&- 2>&-", ">/dev/full 2>/dev/full", "| head -c 0"]


@pytest.mark.parametrize("way", WAYS)
def test_a_worker_without_an_output_starts_works_and_stops(
    way: str, database: TestDatabase
) -> None:
    """Closed by a supervisor, on a full disk, or into a pipe that nobody reads."""
    connection = database.connect()
    enqueue(connection, "order_fanout")  # undecodable: any worker ends it
    line = f"{shlex.quote(sys.executable)} -m api worker {way}"
    shell = subprocess.Popen(
        ["/bin/sh", "-c", line],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT), "COUNTERFOIL_DATABASE_URL": database.url},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    with shell:
        until(lambda: is_over(connection))
        ((pid,),) = connection.execute("SELECT pid FROM counterfoil.workers").fetchall()
        os.kill(pid, signal.SIGTERM)
        code = shell.wait(60)

    assert code == 0
    (stopped,) = connection.execute(
        "SELECT stopped_at IS NOT NULL FROM counterfoil.workers"
    ).fetchall()
    assert stopped == (True,)
