"""32 writers and a tight reader: nothing is lost, every stream is seen in order."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from uuid import UUID

import pytest

from infrastructure.log.follower import Follower
from infrastructure.log.horizon import Horizon
from infrastructure.postgres.database import Connection, Database
from tests.fixtures.database import ON_BOTH_SERVERS, TestDatabase
from tests.log.stress_writers import VERSIONS

pytestmark = [pytest.mark.database, ON_BOTH_SERVERS]

ROOT = Path(__file__).resolve().parents[2]
WRITERS = 32
PAGE = 5_000
WRAP = 2**32
STOP_SECONDS = 60

WITHOUT_HORIZON = """
SELECT position FROM counterfoil.events WHERE position > %(after)s
 ORDER BY position LIMIT 5000
"""


class Sighting:
    """What a follower has seen: how many events, and how many out of order."""

    def __init__(self, follower: Follower) -> None:
        self._follower = follower
        self._last = dict[UUID, int]()
        self.cursor = 0
        self.seen = 0
        self.out_of_order = 0

    def look(self) -> bool:
        """Read one page; whether there was one."""
        page = self._follower.read(self.cursor, PAGE)
        for event in page:
            if self._last.pop(event.stream_id, 0) != event.version - 1:
                self.out_of_order += 1
            if event.version != VERSIONS[-1]:
                self._last[event.stream_id] = event.version
        self.seen += len(page)
        if page:
            self.cursor = page[-1].position
        return bool(page)


class Unwise:
    """A reader that ignores the horizon: the control, which must lose events."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._cursor = 0
        self.seen = 0

    def look(self) -> bool:
        """Read one page; whether there was one."""
        page = self._connection.execute(
            WITHOUT_HORIZON, {"after": self._cursor}
        ).fetchall()
        self.seen += len(page)
        if page:
            self._cursor = max(int(str(position)) for (position,) in page)
        return bool(page)


@contextmanager
def writing(conninfo: str, processes: int) -> Iterator[list[subprocess.Popen[str]]]:
    """Run `WRITERS` writers in some processes, ended by closing their input."""
    with ExitStack() as running:
        started = [
            running.enter_context(
                subprocess.Popen(
                    [
                        sys.executable,
                        "-m",
                        "tests.log.stress_writers",
                        conninfo,
                        str(WRITERS // processes),
                        str(1_000 * number),
                    ],
                    cwd=ROOT,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
            for number in range(processes)
        ]
        try:
            yield started
        finally:
            for process in started:
                if process.poll() is None:
                    process.kill()


def ended(process: subprocess.Popen[str]) -> int:
    """Return how many events the writers of a process have committed."""
    told, _ = process.communicate(timeout=STOP_SECONDS)
    assert process.returncode == 0
    return int(told)


@pytest.mark.parametrize(
    ("seconds", "processes", "start"),
    [
        pytest.param(3, 4, 0, id="short"),
        pytest.param(10, WRITERS, WRAP - 20_000, id="long", marks=pytest.mark.crash),
        pytest.param(
            300,
            WRITERS,
            WRAP - 500_000,
            id="campaign",
            marks=[pytest.mark.campaign, pytest.mark.timeout(900)],
        ),
    ],
)
def test_32_writers_and_a_tight_reader_lose_nothing_and_keep_every_stream_in_order(
    seconds: float, processes: int, start: int, database: TestDatabase
) -> None:
    """The longer ones also cross the boundary of a ticket's 32 bits."""
    database.connect().execute(
        "SELECT setval('counterfoil.position_seq', %(start)s)", {"start": start}
    )
    control = Unwise(database.connect())
    with Database(database.conninfo, pool_size=2) as opened:
        sighting = Sighting(Follower(opened.connection, Horizon(opened.connection)))
        with writing(database.conninfo, processes) as started:
            while not sighting.look():  # the first of them has begun
                pass
            until = time.monotonic() + seconds
            while time.monotonic() < until:
                sighting.look()
                control.look()
            for process in started:
                assert process.stdin is not None
                process.stdin.close()
                process.stdin = None
            committed = sum(ended(process) for process in started)
        while sighting.look():
            pass
        while control.look():
            pass

    (held,) = database.connect().execute("SELECT count(*) FROM counterfoil.events")
    assert sighting.out_of_order == 0
    assert (sighting.seen, committed) == (held[0], held[0])
    assert sighting.cursor > WRAP or not start
    assert control.seen < held[0], "nothing overlapped: the test has shown nothing"
