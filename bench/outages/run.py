"""One run: a subject, a scenario, and what everybody wrote down."""

import sys
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from bench.child import BenchError
from bench.outages.account import Journal, Phases
from bench.outages.child import Child
from bench.outages.crew import Crew
from bench.outages.producer import CREATE_ORDERS, Pace
from bench.outages.server import Server
from bench.outages.settings import JOBS_PER_SECOND, Spans
from bench.outages.subject import Subject
from infrastructure.postgres.database import connect
from infrastructure.postgres.heads.table import number

_SETTLE_DOWN_SECONDS: Final = 0.5
_LOOK_SECONDS: Final = 0.1
_COMMITTED: Final = "SELECT n FROM shop.orders"


@dataclass(frozen=True, slots=True)
class Stage:
    """What a scenario may lay its hands on."""

    subject: Subject
    server: Server
    conninfo: str
    crew: Crew
    spans: Spans


@dataclass(frozen=True, slots=True)
class Passed:
    """What a scenario says about itself when it is over."""

    over_at: float
    """When what it did to the system had ended."""
    event_at: float | None = None
    """When it began, if that was not at once."""
    killed: int | None = None
    """The worker that it killed."""
    confirmed: tuple[int, ...] = ()
    """Jobs that it enqueued itself."""
    backlog: Sequence[tuple[float, int]] = ()
    """Seconds after `over_at`, and jobs that the tables held as unfinished then."""


type Scenario = Callable[[Stage], Passed]


@dataclass(frozen=True, slots=True)
class Run:
    """What is known of one run."""

    journal: Journal
    phases: Phases
    killed: int | None
    died: int
    """Workers that ended without being killed."""
    backlog: Sequence[tuple[float, int]] = ()
    """See `Passed.backlog`."""


def run(server: Server, subject: Subject, scenario: Scenario, spans: Spans) -> Run:
    """Return what happened when `subject` went through `scenario`.

    Raises:
        BenchError: the subject did not work even before the event.
    """
    with (
        server.database() as conninfo,
        TemporaryDirectory(prefix="run-", dir=server.folder) as name,
    ):
        subject.set_up(conninfo)
        with closing(connect(conninfo)) as connection:
            connection.execute(CREATE_ORDERS)
        folder = Path(name)
        with (
            Crew(subject, conninfo, folder) as crew,
            _producer(subject, conninfo, folder) as producer,
        ):
            producer.wait_ready()
            stage = Stage(subject, server, conninfo, crew, spans)
            passed, phases = _act(stage, producer, scenario)
            confirmed, unknown = _told(producer)
            confirmed |= dict.fromkeys(passed.confirmed, passed.over_at)
            _wait_for_open_jobs(stage, confirmed)
            crew.stop()
            journal = _journal(stage, confirmed, unknown)
        return Run(journal, phases, passed.killed, crew.died, passed.backlog)


def _producer(subject: Subject, conninfo: str, folder: Path) -> Child:
    pace = Pace(conninfo, subject.enqueue, JOBS_PER_SECOND)
    command = [sys.executable, "-m", "bench.outages.producer"]
    return Child(command, pace.environment(), folder / "producer")


def _act(stage: Stage, producer: Child, scenario: Scenario) -> tuple[Passed, Phases]:
    stage.crew.go()
    producer.go()
    stage.crew.wait_warm()
    stage.crew.watch(_SETTLE_DOWN_SECONDS)
    began_at = time.monotonic()
    stage.crew.watch(stage.spans.before)
    event_at = time.monotonic()
    passed = scenario(stage)
    ended_at = time.monotonic()
    producer.stop()
    event_at = passed.event_at or event_at
    return passed, Phases(began_at, event_at, passed.over_at, ended_at)


def _told(producer: Child) -> tuple[dict[int, float], set[int]]:
    """Return the jobs whose COMMIT was answered, and when; and those in doubt."""
    confirmed: dict[int, float] = {}
    unknown: set[int] = set()
    for line in producer.lines()[1:]:
        answer, first, last, at = line.split()
        jobs = range(int(first), int(last) + 1)
        if answer == "c":
            confirmed |= dict.fromkeys(jobs, int(at) / 1e9)
        else:
            unknown.update(jobs)
    if not confirmed:
        msg = "the producer has placed nothing"
        raise BenchError(msg)
    return confirmed, unknown


def _wait_for_open_jobs(stage: Stage, confirmed: dict[int, float]) -> None:
    give_up_at = time.monotonic() + stage.spans.patience
    while time.monotonic() < give_up_at:
        ended = {mark.job for mark in stage.crew.marks("e")}
        if ended >= confirmed.keys():
            return
        stage.crew.watch(_LOOK_SECONDS)


def _journal(stage: Stage, confirmed: dict[int, float], unknown: set[int]) -> Journal:
    with closing(connect(stage.conninfo)) as connection:
        committed = {number(row[0]) for row in connection.execute(_COMMITTED)}
        unfinished = stage.subject.count_unfinished(connection)
    return Journal(
        begun=stage.crew.marks("b"),
        ended=stage.crew.marks("e"),
        confirmed=confirmed,
        unknown=unknown,
        committed=committed,
        unfinished=unfinished,
    )
