"""Run the main job on all real orders while things break, then let the books agree.

t=0   database, migrations, panel (failing in 3 % of its requests), workers
      orders are settled, each in one transaction of its own
15 %  one worker is killed with SIGKILL; another takes its place
20 %  one worker is frozen with SIGSTOP until its leases are over, then goes on
25 %  operators begin to change what customers have, who buy meanwhile, and to refund;
      somebody edits users at the panel itself, and operators find out
end   nothing is unfinished: workers stop politely, the books are compared
"""

import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from infrastructure.demo.check import Finding, check
from infrastructure.demo.diary import Diary, Sale
from infrastructure.demo.figures import Progress, figures, progress
from infrastructure.demo.people.desk import OPERATORS, Desk
from infrastructure.demo.people.script import EARLY, SQUADS, visits
from infrastructure.demo.people.somebody import Somebody
from infrastructure.demo.processes import DemoProcessError, Place, Processes
from infrastructure.postgres.database import Connection

KILL_AT: Final = 0.15
FREEZE_AT: Final = 0.20
FREEZE_SECONDS: Final = 66.0
"""Longer than a lease (60 s) and one rescue round (5 s)."""

_LOOK_SECONDS: Final = 0.25
_ENOUGH_ORDERS: Final = 1000
_KILLED: Final = 0
_FROZEN: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoOptions:
    """What a demo runs on and how much breaks."""

    workers: int = 3
    fault_rate: float = 0.03
    seed: int = 1997
    patience_seconds: float = 600.0
    freeze_seconds: float = FREEZE_SECONDS


@dataclass(frozen=True, slots=True)
class DemoResult:
    """What a demo ends with; `is_right` only if nothing disagrees."""

    figures: Sequence[tuple[str, str]]
    findings: Sequence[Finding]
    diary: Diary
    exit_codes: Sequence[int]
    seconds: float

    @property
    def is_right(self) -> bool:
        """Whether every order is accounted for and the two books agree."""
        polite = all(code in {0, -signal.SIGKILL} for code in self.exit_codes)
        return polite and not any(each.disagreements for each in self.findings)


@dataclass(slots=True)
class Stage:
    """What the demo is told by, and tells, while it runs."""

    sales: Mapping[str, Sale]
    """Every order of the shop's file, as they come."""
    settle: Callable[[Callable[[], object]], None]
    """Settles them, calling back now and then."""
    tell: Callable[[str], None]
    show: Callable[[Progress], None]
    began_at: float = field(default_factory=time.monotonic)


def run_demo(
    connection: Connection, place: Place, stage: Stage, options: DemoOptions
) -> DemoResult:
    """Return the result of one demo over a migrated, empty database.

    Raises:
        DemoProcessError: a child died that should not, or nothing moved any more.
    """
    diary = Diary(sales=dict(stage.sales))
    with Processes(place) as processes:
        processes.start_panel(
            fault_rate=options.fault_rate, seed=options.seed, squads=SQUADS
        )
        rate = f"{options.fault_rate:.0%}"
        stage.tell(
            f"panel simulator at {processes.panel_url}, failing in {rate} of its "
            "requests"
        )
        for _ in range(options.workers):
            processes.start_worker()
        stage.tell(f"{options.workers} worker processes started")
        mishaps = _Mishaps(connection, processes, stage, options)
        people = _People(_desk(connection, place, processes, diary), stage)

        def look() -> bool:
            """Return whether everything is over."""
            now = mishaps.look()
            people.look(now)
            return now.unfinished == 0 and mishaps.is_over and people.are_done

        stage.settle(look)
        stage.tell(f"{len(diary.sales):,} orders settled, each in its own transaction")
        _until(look, options.patience_seconds)
        exit_codes = processes.stop_workers()
        processes.stop_panel()
    return DemoResult(
        figures(connection, diary),
        check(connection, place.book, diary),
        diary,
        exit_codes,
        time.monotonic() - stage.began_at,
    )


def _until(look: Callable[[], bool], patience_seconds: float) -> None:
    """Return when everything is over.

    Raises:
        DemoProcessError: a child died that should not, or it took too long.
    """
    give_up_at = time.monotonic() + patience_seconds
    while not look():
        if time.monotonic() >= give_up_at:
            msg = f"something is unfinished after {patience_seconds:.0f} s"
            raise DemoProcessError(msg)
        time.sleep(_LOOK_SECONDS)


def _desk(
    connection: Connection, place: Place, processes: Processes, diary: Diary
) -> Desk:
    somebody = Somebody(processes.panel_url, processes.token, place.book, diary)
    desk = Desk(connection, processes, diary, somebody)
    desk.take(visits([(order, sale.customer) for order, sale in diary.sales.items()]))
    return desk


@dataclass(slots=True)
class _People:
    """Lets people work once enough customers have bought, and tells of it."""

    desk: Desk
    stage: Stage
    have_begun: bool = False
    have_ended: bool = False

    @property
    def are_done(self) -> bool:
        """Whether there is nothing left for them to do."""
        return self.desk.is_done

    def look(self, now: Progress) -> None:
        """Let the people do what they have to."""
        if now.settled < EARLY * len(self.stage.sales) or self.have_ended:
            return
        if not self.have_begun:
            self.have_begun = True
            self.stage.tell(
                f"operators {' and '.join(OPERATORS)} change what customers have, who "
                "buy meanwhile; somebody edits users at the panel itself"
            )
        self.desk.look()
        if self.desk.is_done:
            self.have_ended = True
            diary = self.desk.diary
            self.stage.tell(
                f"{diary.commands} commands of operators given, "
                f"{len(diary.refunds)} of them refunds; "
                f"{len(diary.edits)} users edited at the panel"
            )


@dataclass(slots=True)
class _Mishaps:
    """Kills and freezes workers when enough is fulfilled."""

    connection: Connection
    processes: Processes
    stage: Stage
    options: DemoOptions
    dead: list[int] = field(default_factory=list[int])
    thaw_at: float | None = None
    """When the frozen worker goes on; 0 once it has."""

    def look(self) -> Progress:
        """Return how far everything is, after breaking what is due to break."""
        now = progress(self.connection)
        self.stage.show(now)
        self.processes.require_alive(self.dead)
        # A share of the first few orders says nothing yet.
        share = now.fulfilled / max(now.settled, _ENOUGH_ORDERS)
        if not self.dead and share >= KILL_AT:
            self._kill()
        if self.thaw_at is None and share >= FREEZE_AT:
            self._freeze()
        if self.thaw_at is not None and 0 < self.thaw_at <= time.monotonic():
            self._thaw()
        return now

    @property
    def is_over(self) -> bool:
        """Whether nobody is frozen (any more)."""
        return self.thaw_at == 0

    def _kill(self) -> None:
        self.processes.signal(_KILLED, signal.SIGKILL)
        self.dead.append(_KILLED)
        self.processes.start_worker()
        self.stage.tell("worker 1 killed with SIGKILL; another one started")

    def _freeze(self) -> None:
        self.processes.signal(_FROZEN, signal.SIGSTOP)
        self.thaw_at = time.monotonic() + self.options.freeze_seconds
        self.stage.tell("worker 2 frozen with SIGSTOP, for longer than its leases last")

    def _thaw(self) -> None:
        self.processes.signal(_FROZEN, signal.SIGCONT)
        self.thaw_at = 0.0
        self.stage.tell("worker 2 goes on; its leases are others' by now")
