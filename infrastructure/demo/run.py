"""Run the main job on all real orders while things break, then let the books agree.

t=0   database, migrations, panel (failing in 3 % of its requests), workers
      orders are settled, each in one transaction of its own
15 %  one worker is killed with SIGKILL; another takes its place
20 %  one worker is frozen with SIGSTOP until its leases are over, then goes on
end   nothing is unfinished: workers stop politely, the two books are compared
"""

import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from infrastructure.demo.check import Finding, check
from infrastructure.demo.figures import Progress, figures, progress
from infrastructure.demo.processes import DemoProcessError, Place, Processes
from infrastructure.postgres.database import Connection

KILL_AT: Final = 0.15
FREEZE_AT: Final = 0.20
FREEZE_SECONDS: Final = 66.0
"""Longer than a lease (60 s) and one rescue round (5 s)."""

_LOOK_SECONDS: Final = 0.25
_KILLED: Final = 0
_FROZEN: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoOptions:
    """What a demo runs on and how much breaks."""

    workers: int = 3
    fault_rate: float = 0.03
    seed: int = 1997
    days: int = 30
    """Days of access per order, as the orders' map says."""
    patience_seconds: float = 600.0
    freeze_seconds: float = FREEZE_SECONDS


@dataclass(frozen=True, slots=True)
class DemoResult:
    """What a demo ends with; `is_right` only if nothing disagrees."""

    figures: Sequence[tuple[str, str]]
    findings: Sequence[Finding]
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

    settle: Callable[[Callable[[int], None]], int]
    """Settles every order, calling back with the count; returns how many there are."""
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
    with Processes(place) as processes:
        processes.start_panel(fault_rate=options.fault_rate, seed=options.seed)
        stage.tell(f"panel simulator at {processes.panel_url}, failing in "
                   f"{options.fault_rate:.0%} of its requests")  # fmt: skip
        for _ in range(options.workers):
            processes.start_worker()
        stage.tell(f"{options.workers} worker processes started")
        orders = stage.settle(lambda _: stage.show(progress(connection)))
        stage.tell(f"{orders:,} orders settled, each in its own transaction")
        _break_things(connection, processes, stage, options)
        exit_codes = processes.stop_workers()
        processes.stop_panel()
    return DemoResult(
        figures(connection),
        check(connection, place.book, orders=orders, days=options.days),
        exit_codes,
        time.monotonic() - stage.began_at,
    )


def _break_things(
    connection: Connection, processes: Processes, stage: Stage, options: DemoOptions
) -> None:
    thaw_at: float | None = None
    dead: list[int] = []
    give_up_at = time.monotonic() + options.patience_seconds
    while True:
        now = progress(connection)
        stage.show(now)
        processes.require_alive(dead)
        share = now.fulfilled / max(now.settled, 1)
        if not dead and share >= KILL_AT:
            processes.signal(_KILLED, signal.SIGKILL)
            dead.append(_KILLED)
            processes.start_worker()
            stage.tell("worker 1 killed with SIGKILL; another one started")
        if thaw_at is None and share >= FREEZE_AT:
            processes.signal(_FROZEN, signal.SIGSTOP)
            thaw_at = time.monotonic() + options.freeze_seconds
            stage.tell("worker 2 frozen with SIGSTOP, for longer than its leases last")
        if thaw_at is not None and 0 < thaw_at <= time.monotonic():
            processes.signal(_FROZEN, signal.SIGCONT)
            thaw_at = 0.0
            stage.tell("worker 2 goes on; its leases are others' by now")
        if now.unfinished == 0 and thaw_at == 0:
            return
        if time.monotonic() >= give_up_at:
            waited = f"{options.patience_seconds:.0f} s"
            msg = f"{now.unfinished} jobs are unfinished after {waited}"
            raise DemoProcessError(msg)
        time.sleep(_LOOK_SECONDS)
