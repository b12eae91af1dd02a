"""32 writers and a tight reader: nothing is lost, every stream is seen in order."""

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
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
LAST = "SELECT counterfoil.last_position()"
WRAP = 2**32
NO_BOUND = 2**62
STOP_SECONDS = 100

NEWEST = """
SELECT count(*), coalesce(max(position), 0)
  FROM counterfoil.events
 WHERE position > %(after)s
   AND position <= %(until)s
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
        batch = self._follower.read(self.cursor, PAGE)
        for event in batch.events:
            if self._last.pop(event.stream_id, 0) != event.version - 1:
                self.out_of_order += 1
            if event.version != VERSIONS[-1]:
                self._last[event.stream_id] = event.version
        self.seen += len(batch.events)
        self.cursor = batch.until
        return batch.until > batch.after


class Counter:
    """Counts whatever is new, up to a bound: never behind, however busy the machine."""

    def __init__(self, connection: Connection, bound: Callable[[], int]) -> None:
        self._connection = connection
        self._bound = bound
        self._cursor = 0
        self.seen = 0

    def look(self) -> None:
        """Count the new ones, and take them for all there are."""
        until = self._bound()
        (row,) = self._connection.execute(
            NEWEST, {"after": self._cursor, "until": until}
        ).fetchall()
        self.seen += int(str(row[0]))
        self._cursor = max(self._cursor, int(str(row[1])))

    def look_until(self, stop: threading.Event) -> None:
        """Look again and again, and once more at the end."""
        while not stop.is_set():
            self.look()
        self.look()


@contextmanager
def writing(conninfo: str, processes: int) -> Iterator[list[subprocess.Popen[str]]]:
    """Give processes with `WRITERS` writers in all, every one of them connected."""
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
            for process in started:
                assert process.stdout is not None
                assert process.stdout.readline() == "connected\n"
            yield started
        finally:
            for process in started:
                if process.poll() is None:
                    process.kill()


def last_position(database: TestDatabase) -> int:
    """Return the last position that was handed out."""
    (row,) = database.connect().execute(LAST).fetchall()
    return int(str(row[0]))


def ended(processes: list[subprocess.Popen[str]]) -> int:
    """Tell all writers to stop; how many events they have committed together."""
    for process in processes:
        assert process.stdin is not None
        process.stdin.close()
        process.stdin = None
    told = [process.communicate(timeout=STOP_SECONDS)[0] for process in processes]
    assert [process.returncode for process in processes] == [0] * len(processes)
    return sum(map(int, told))


@pytest.mark.parametrize(
    ("seconds", "processes", "start"),
    [
        pytest.param(3, 4, 0, id="short"),
        pytest.param(
            10,
            WRITERS,
            WRAP - 5_000,
            id="long",
            marks=[pytest.mark.crash, pytest.mark.timeout(300)],
        ),
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
    stop = threading.Event()
    with (
        Database(database.conninfo, pool_size=4) as opened,
        ThreadPoolExecutor(2) as looking,
    ):
        horizon = Horizon(opened.connection)
        sighting = Sighting(Follower(opened.connection, horizon))
        counter = Counter(database.connect(), horizon.current)
        control = Counter(database.connect(), lambda: NO_BOUND)
        with writing(database.conninfo, processes) as started:
            looks = [
                looking.submit(each.look_until, stop) for each in (counter, control)
            ]
            until = time.monotonic() + seconds
            while time.monotonic() < until:
                sighting.look()
            committed = ended(started)
        stop.set()
        # Not to the first look that finds nothing: to the end of the log.
        last = last_position(database)
        while sighting.look() or sighting.cursor < last:
            pass
        for look in looks:
            look.result()

    (held,) = database.connect().execute("SELECT count(*) FROM counterfoil.events")
    assert sighting.out_of_order == 0
    assert (sighting.seen, counter.seen, committed) == (held[0], held[0], held[0])
    assert sighting.cursor > WRAP or not start
    assert control.seen < held[0], "nothing overlapped: the test has shown nothing"
