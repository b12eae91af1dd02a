"""One scenario as a measure of the bench: every subject goes through it once."""

import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from rich.console import Console
from rich.table import Table

from bench.child import BenchError
from bench.ground import Ground
from bench.lines import Line, Series, value
from bench.outages import settings
from bench.outages.account import (
    back_after,
    by_second,
    caught_up_after,
    fate,
    first_ends,
    orphans,
    rate,
    silence,
)
from bench.outages.run import Run, run
from bench.outages.scenarios import SCENARIOS
from bench.outages.server import Server, serve
from bench.outages.settings import Spans
from bench.outages.subject import Subject
from bench.outages.subjects import COUNTERFOIL, SUBJECTS
from bench.sizes import QUICK, Sizes

_TITLES: Final = {
    "before": ("before", "jobs/s"),
    "during": ("during / before", "×"),
    "after": ("after / before", "×"),
    "back": ("until ≥ 90 % of before", "s"),
    "silence": ("longest silence", "s"),
    "away": ("database away", "s"),
    "returned": ("until ≥ 90 % of before, once it answers", "s"),
    "again": ("first job after the first COMMIT", "s"),
    "caught_up": ("until its tables had caught up", "s"),
    "kept_up": ("ended / ordered, afterwards", "×"),
    "died": ("workers that ended by themselves", "workers"),
    "failed": ("could not be measured", "runs"),
    "in_flight": ("in flight in the killed worker", "jobs"),
    "rerun": ("until the last of those began again", "s"),
    "held_up": ("held up for more than a second", "jobs"),
    "last_end": ("until the last job from before ended", "s"),
    "lost": ("lost: committed, never ended, forgotten", "jobs"),
    "open": ("still open when the run was over", "jobs"),
    "begun_twice": ("begun twice", "jobs"),
    "ended_twice": ("handler ended twice", "jobs"),
    "unknown_ended": ("ended, unknown to the producer", "jobs"),
    "uncommitted": ("begun, though never committed", "jobs"),
}
_ALWAYS: Final = (
    "before", "during", "after", "kept_up", "back", "silence", "lost", "open",
    "begun_twice", "ended_twice", "unknown_ended", "uncommitted", "died", "failed",
)  # fmt: skip
_TOLD: Final[Mapping[str, tuple[str, ...]]] = {
    "restart": (*_ALWAYS, "away", "returned", "again", "caught_up"),
    "kill": (*_ALWAYS, "in_flight", "rerun", "held_up", "last_end"),
    "idle enqueuer": _ALWAYS,
    "idle snapshot": _ALWAYS,
}
_GROUPS: Final = {
    "restart": "PostgreSQL stopped at once and started again",
    "kill": "SIGKILL of one of two workers",
    "idle enqueuer": "a transaction has enqueued and idles",
    "idle snapshot": "a transaction keeps an old snapshot",
}


@dataclass(slots=True)
class Outage:
    """One scenario; it is gone through in the first round alone: it takes minutes."""

    scenario: str
    subjects: Sequence[Subject]
    server: Server
    spans: Spans
    _series: dict[str, list[tuple[float, float]]] = field(
        default_factory=dict[str, list[tuple[float, float]]]
    )

    @property
    def name(self) -> str:
        """Its key in a `Round`."""
        return f"outage: {self.scenario}"

    @property
    def lines(self) -> Sequence[Line]:
        """What the report tells of it: per subject everything that was counted."""
        return [
            Line(
                group=_GROUPS[self.scenario],
                title=f"{subject.title}: {_TITLES[what][0]}",
                unit=_TITLES[what][1],
                of=value(self.name, f"{subject.title} {what}"),
            )
            for subject in self.subjects
            for what in _TOLD[self.scenario]
        ]

    def round(self, turn: int) -> Mapping[str, float]:
        """Send every subject through the scenario, if this is the first round.

        A peer that does not even work before the event costs nobody else the run.

        Raises:
            BenchError: ours did not.
        """
        told: dict[str, float] = {}
        for subject in self.subjects if turn == 0 else ():
            try:
                figures = self._figures(subject)
            except BenchError as error:
                if subject is COUNTERFOIL:
                    raise
                print(error, file=sys.stderr)
                figures = {"failed": 1.0}
            told |= {f"{subject.title} {what}": it for what, it in figures.items()}
        return told

    def _figures(self, subject: Subject) -> Mapping[str, float]:
        scenario = SCENARIOS[self.scenario]
        done = run(self.server, subject, scenario, self.spans)
        ends = first_ends(done.journal)
        self._series[subject.title] = by_second(ends, done.phases)
        return counted(done) | {"failed": 0.0}

    def series(self) -> Series:
        """Return jobs per second by seconds since the event, for each subject."""
        return self._series


def counted(done: Run) -> dict[str, float]:
    """Return every figure of one run; what cannot be said is left out."""
    journal, phases = done.journal, done.phases
    ends = first_ends(journal)
    before = rate(ends, phases.began_at, phases.event_at)
    what = fate(journal)
    told = {
        "before": before,
        "during": rate(ends, phases.event_at, phases.over_at) / before,
        "after": rate(ends, phases.over_at, phases.ended_at) / before,
        "kept_up": _kept_up(done, ends),
        "silence": silence(ends, phases),
        "away": phases.over_at - phases.event_at,
        "lost": what.lost + what.forgotten_commits,
        "open": what.open,
        "begun_twice": what.begun_twice,
        "ended_twice": what.ended_twice,
        "unknown_ended": what.unknown_ended,
        "uncommitted": what.never_committed,
        "died": done.died,
    }
    if (back := back_after(ends, phases)) is not None:
        told["back"] = back
        told["returned"] = max(back - told["away"], 0.0)
    caught_up = caught_up_after(done.backlog, settings.JOBS_PER_SECOND)
    if done.backlog and caught_up is not None:
        told["caught_up"] = caught_up
    if (again := _again(done, ends)) is not None:
        told["again"] = again
    if done.killed is not None:
        told |= _counted_orphans(done, done.killed)
    return told


def _kept_up(done: Run, ends: Sequence[float]) -> float:
    """Return jobs ended by jobs ordered after the event: what a busy machine spares."""
    since, until = done.phases.over_at, done.phases.ended_at
    ordered = rate(sorted(done.journal.confirmed.values()), since, until)
    return rate(ends, since, until) / ordered if ordered else 0.0


def _again(done: Run, ends: Sequence[float]) -> float | None:
    """Return how long the first order after the event waited for a worker."""
    over_at = done.phases.over_at
    orders = [at for at in done.journal.confirmed.values() if at > over_at]
    if not orders or not ends or ends[-1] <= min(orders):
        return None
    return next(at for at in ends if at > min(orders)) - min(orders)


def _counted_orphans(done: Run, killed: int) -> dict[str, float]:
    it = orphans(done.journal, killed, done.phases)
    told = {
        "in_flight": float(it.in_flight),
        "held_up": float(it.held_up),
        "last_end": it.last_end,
    }
    if it.in_flight and len(it.begun_again) == it.in_flight:
        told["rerun"] = it.begun_again[-1]
    return told


@contextmanager
def measures(place: Ground, sizes: Sizes) -> Generator[Sequence[Outage]]:
    """Give the four scenarios, over a server that nobody else is using."""
    spans = settings.QUICK if sizes.rounds <= QUICK.rounds else settings.FULL
    subjects = [subject for subject in SUBJECTS if subject.system.is_installed]
    folder = place.folder / "outages"
    with serve(folder) as server:
        yield [Outage(name, subjects, server, spans) for name in SCENARIOS]


def show(outage: Outage, told: Mapping[str, float], console: Console) -> None:
    """Print the figures of one scenario: a row for each, a column for each subject."""
    table = Table(title=_GROUPS[outage.scenario])
    for title in ("", *(subject.title for subject in outage.subjects), "unit"):
        table.add_column(title, justify="right" if title else "left")
    for what in _TOLD[outage.scenario]:
        cells = [told.get(f"{it.title} {what}") for it in outage.subjects]
        texts = ["–" if it is None else f"{it:,.4g}" for it in cells]
        table.add_row(_TITLES[what][0], *texts, _TITLES[what][1])
    console.print(table)
    for title, points in outage.series().items():
        rates = " ".join(f"{rate:.0f}" for _, rate in points)
        console.print(f"{title}, jobs/s from {points[0][0]:+.0f} s: {rates}")
