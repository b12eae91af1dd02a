"""Run the main job on all real orders while things break, then let the books agree.

t=0   database, migrations, workers; panel and gateway, failing in 3 % of their requests
      orders are settled, each in one transaction of its own; goods are bought, and an
      operator decides from the gateway's ledger what became of lost purchases
15 %  one worker is killed with SIGKILL; another takes its place
20 %  one worker is frozen with SIGSTOP until its leases are over, then goes on
20 %  operators begin to change what customers have, who buy meanwhile, and to refund;
      somebody edits users at the panel itself, and operators find out
30 %  an operator closes the panel for maintenance; orders are settled on, one more
      worker is killed, and what has to wait costs nothing; then the panel is opened
end   nothing is unfinished: workers stop politely, the books are compared, the read
      models among them, which one worker has carried forward after the other
"""

import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from infrastructure.demo.answers import document, lines
from infrastructure.demo.check import Finding, check
from infrastructure.demo.diary import Diary
from infrastructure.demo.figures import Progress, figures
from infrastructure.demo.mishaps import Mishaps
from infrastructure.demo.people.caretaker import Caretaker
from infrastructure.demo.people.day import Day
from infrastructure.demo.people.desk import Desk
from infrastructure.demo.people.reader import Reader
from infrastructure.demo.people.reviewer import NAME, Reviewer
from infrastructure.demo.people.script import SQUADS, visits
from infrastructure.demo.people.somebody import Somebody
from infrastructure.demo.processes import (
    GOODS_BACKOFF_SECONDS,
    DemoProcessError,
    Place,
    Processes,
)
from infrastructure.demo.seller import FAULTS, configure
from infrastructure.demo.stage import DemoOptions, Stage
from infrastructure.postgres.batch_store import BatchStore
from infrastructure.postgres.database import Connection
from infrastructure.reviews.reviews import decide_over

_LOOK_SECONDS: Final = 0.25
_LAG: Final = 0.1
_LEAST_LAG: Final = 200
"""Orders that may be settled and not yet fulfilled: a share of all, or as many."""


@dataclass(frozen=True, slots=True)
class DemoResult:
    """What a demo ends with; `is_right` only if nothing disagrees."""

    figures: Sequence[tuple[str, str]]
    lines: Sequence[tuple[str, str]]
    """What the read models were asked, and what they told,"""
    answers: Mapping[str, object]
    """the same for a program."""
    findings: Sequence[Finding]
    diary: Diary
    exit_codes: Sequence[int]
    seconds: float

    @property
    def is_right(self) -> bool:
        """Whether every order is accounted for and the two books agree."""
        polite = all(code in {0, -signal.SIGKILL} for code in self.exit_codes)
        return polite and not any(each.disagreements for each in self.findings)


def run_demo(
    connection: Connection,
    reader: Reader,
    place: Place,
    stage: Stage,
    options: DemoOptions,
) -> DemoResult:
    """Return the result of one demo over a migrated, empty database.

    Raises:
        DemoProcessError: a child died that should not, or nothing moved any more.
        CounterfoilError: a read model did not answer.
    """
    diary = Diary(sales=dict(stage.sales))
    with Processes(place) as processes:
        _start(processes, stage, options)
        _start_selling(processes, stage, options, diary)
        for _ in range(options.workers):
            processes.start_worker()
        stage.tell(f"{options.workers} worker processes started")
        mishaps = Mishaps(connection, processes, stage, options)
        play = _play(mishaps, reader, diary)
        # A shop that sells far ahead would be done before anything happens.
        stage.settle(lambda: _until(play.keeps_pace, options.patience_seconds))
        stage.tell(f"{len(diary.sales):,} orders settled, each in its own transaction")
        _until(play.is_over, options.patience_seconds)
        stage.tell(f"{NAME} has decided {len(diary.verdicts)} reviews from the ledger")
        reader.follow()
        exit_codes = processes.stop_workers()
        processes.stop_simulators()
    stage.tell("read models are asked, and compared with a fold of the whole log")
    diary.answers = reader.answers()
    return DemoResult(
        figures(connection, diary),
        lines(diary),
        document(diary),
        check(connection, place.book, place.ledger, diary),
        diary,
        exit_codes,
        time.monotonic() - stage.began_at,
    )


def _start(processes: Processes, stage: Stage, options: DemoOptions) -> None:
    processes.start_panel(
        fault_rate=options.fault_rate, seed=options.seed, squads=SQUADS
    )
    rate = f"{options.fault_rate:.0%}"
    stage.tell(
        f"panel simulator at {processes.panel_url}, failing in {rate} of its requests"
    )


def _start_selling(
    processes: Processes, stage: Stage, options: DemoOptions, diary: Diary
) -> None:
    rate, seed = options.fault_rate, options.seed
    processes.start_gateway(fault_rate=rate, seed=seed, faults=FAULTS)
    providers = {sale.goods.provider for sale in stage.sales.values()}
    configure(processes, providers, diary)
    stage.tell(
        f"gateway simulator at {processes.gateway_url}, failing in {rate:.0%} of its "
        f"requests; a refused purchase is tried again after {GOODS_BACKOFF_SECONDS} s "
        "and on, instead of a minute"
    )


@dataclass(frozen=True, slots=True)
class _Play:
    """Everything that goes on beside the orders."""

    mishaps: Mishaps
    day: Day
    reviewer: Reviewer
    lag: float
    """Orders that may be settled and not yet fulfilled."""

    def look(self) -> Progress:
        """Return how far everything is, after doing what is due."""
        now = self.mishaps.look()
        self.reviewer.look()
        self.day.look(now, may_close=self.mishaps.have_begun)
        return now

    def keeps_pace(self) -> bool:
        """Return whether what is sold is also delivered, or held by the window."""
        now = self.look()
        return (
            self.day.caretaker.is_in_window or now.settled - now.fulfilled <= self.lag
        )

    def is_over(self) -> bool:
        """Return whether there is nothing left to do for anybody."""
        now = self.look()
        is_quiet = now.unfinished == 0 and now.undelivered == 0
        return is_quiet and self.mishaps.is_over and self.day.is_over


def _play(mishaps: Mishaps, reader: Reader, diary: Diary) -> _Play:
    connection, processes = mishaps.connection, mishaps.processes
    book = processes.place.book
    somebody = Somebody(processes.panel_url, processes.token, book, diary)
    desk = Desk(connection, processes, diary, somebody)
    desk.take(visits([(order, sale.customer) for order, sale in diary.sales.items()]))
    caretaker = Caretaker(connection, processes, diary, reader)
    day = Day(desk, caretaker, mishaps.stage, mishaps.kill_in_window)
    units = BatchStore(reader.database)
    decide = decide_over(reader.database, units, four_eyes=False)
    reviewer = Reviewer(connection, processes.place.ledger, decide, diary)
    return _Play(mishaps, day, reviewer, max(_LAG * len(diary.sales), _LEAST_LAG))


def _until(is_so: Callable[[], bool], patience_seconds: float) -> None:
    """Return when it is so, looking again and again.

    Raises:
        DemoProcessError: a child died that should not, or it took too long.
    """
    give_up_at = time.monotonic() + patience_seconds
    while not is_so():
        if time.monotonic() >= give_up_at:
            msg = f"something is unfinished after {patience_seconds:.0f} s"
            raise DemoProcessError(msg)
        time.sleep(_LOOK_SECONDS)
