"""What the logs of one run say: throughput by second, the return, losses, doubles.

Every instant is in seconds of the machine's monotonic clock, which producer, workers
and bench share.  Nothing here looks at a clock or a database.
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

WINDOW_SECONDS: Final = 1.0
"""Over how long a rate is taken: shorter ones see the producer's steps."""
_STEP_SECONDS: Final = 0.05
BACK_SHARE: Final = 0.9
"""Throughput is back when a window holds this share of what one held before."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A handler began or ended a job in the process `worker`."""

    job: int
    at: float
    worker: int


@dataclass(frozen=True, slots=True)
class Phases:
    """When the run's parts began and ended: before | during | after."""

    began_at: float
    event_at: float
    over_at: float
    ended_at: float


@dataclass(frozen=True, slots=True)
class Journal:
    """What producer and workers wrote down in one run, and what the database says."""

    begun: Sequence[Mark]
    ended: Sequence[Mark]
    confirmed: Mapping[int, float]
    """Jobs whose COMMIT was answered, and when."""
    unknown: AbstractSet[int]
    """Jobs whose COMMIT was sent and never answered."""
    committed: AbstractSet[int]
    """Jobs whose transaction the database kept, by the rows of their producer."""
    unfinished: int
    """Jobs that the system's own table still holds as work to be done."""


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of the jobs of one run."""

    lost: int
    """Committed, never ended, and no work of the system's any more."""
    open: int
    """Committed, not ended when the run was over, but not forgotten either."""
    begun_twice: int
    ended_twice: int
    unknown_ended: int
    """Ended although the producer was never told that they exist."""
    never_committed: int
    """Begun although their transaction was rolled back."""
    forgotten_commits: int
    """Confirmed, and gone from the database: it lost a transaction."""


def fate(journal: Journal) -> Fate:
    """Return what became of every job of the run."""
    begun = Counter(mark.job for mark in journal.begun)
    ended = Counter(mark.job for mark in journal.ended)
    missing = len(journal.committed - ended.keys())
    return Fate(
        lost=max(missing - journal.unfinished, 0),
        open=min(missing, journal.unfinished),
        begun_twice=_more_than_once(begun),
        ended_twice=_more_than_once(ended),
        unknown_ended=len(journal.unknown & ended.keys()),
        never_committed=len(begun.keys() - journal.committed),
        forgotten_commits=len(journal.confirmed.keys() - journal.committed),
    )


def _more_than_once(times: Counter[int]) -> int:
    return sum(n > 1 for n in times.values())


def first_ends(journal: Journal) -> list[float]:
    """Return when each job ended for the first time, in order."""
    first: dict[int, float] = {}
    for mark in journal.ended:
        first[mark.job] = min(mark.at, first.get(mark.job, mark.at))
    return sorted(first.values())


def rate(ends: Sequence[float], since: float, until: float) -> float:
    """Return ends per second from `since` to before `until`; `ends` are in order."""
    return (bisect_left(ends, until) - bisect_left(ends, since)) / (until - since)


def by_second(
    ends: Sequence[float], phases: Phases, width: float = WINDOW_SECONDS
) -> list[tuple[float, float]]:
    """Return (seconds since the event, ends per second), a point per whole window.

    The event lies on the border of two windows, so that none mixes before and after.
    """
    first = -int((phases.event_at - phases.began_at) / width)
    last = int((phases.ended_at - phases.event_at) / width)
    return [
        (n * width, rate(ends, start, start + width))
        for n in range(first, last)
        for start in (phases.event_at + n * width,)
    ]


def back_after(ends: Sequence[float], phases: Phases) -> float | None:
    """Return seconds from the event until throughput is back, or None when it is not.

    It is back at the start of the first whole window after the event in which nine
    tenths of the throughput before it end; 0 when the event is not seen at all.
    """
    wanted = BACK_SHARE * rate(ends, phases.began_at, phases.event_at)
    steps = int((phases.ended_at - phases.event_at - WINDOW_SECONDS) / _STEP_SECONDS)
    for n in range(steps + 1):
        start = phases.event_at + n * _STEP_SECONDS
        if rate(ends, start, start + WINDOW_SECONDS) >= wanted:
            return start - phases.event_at
    return None


def silence(ends: Iterable[float], phases: Phases) -> float:
    """Return the longest time without an end, from the event on."""
    inside = [at for at in ends if phases.event_at <= at < phases.ended_at]
    return max(b - a for a, b in pairwise([phases.event_at, *inside, phases.ended_at]))


def caught_up_after(backlog: Sequence[tuple[float, int]], most: float) -> float | None:
    """Return when the backlog was last above `most`; None if it still is at the end.

    Handlers may long have ended what nobody has written down as finished, and what
    is not written down would run again.
    """
    above = [seconds for seconds, jobs in backlog if jobs > most]
    if above and above[-1] == backlog[-1][0]:
        return None
    return above[-1] if above else 0.0


@dataclass(frozen=True, slots=True)
class Orphans:
    """What became of the jobs in the hands of a worker that was killed."""

    in_flight: int
    """Begun by it and not ended."""
    begun_again: Sequence[float]
    """Seconds from the kill until each of those that did began again, in order."""
    held_up: int
    """Confirmed before the kill and ended more than a window after it."""
    last_end: float
    """Seconds from the kill until the last job confirmed before it ended."""


def orphans(journal: Journal, worker: int, phases: Phases) -> Orphans:
    """Return the fate of what `worker` held when it was killed at the event."""
    killed_at = phases.event_at
    ended = {mark.job for mark in journal.ended if mark.worker == worker}
    begun = {mark.job for mark in journal.begun if mark.worker == worker}
    again: dict[int, float] = defaultdict(lambda: float("inf"))
    for mark in journal.begun:
        if mark.worker != worker and mark.job in begun - ended:
            again[mark.job] = min(again[mark.job], mark.at - killed_at)
    late = [
        mark.at - killed_at
        for mark in journal.ended
        if journal.confirmed.get(mark.job, killed_at) < killed_at <= mark.at
    ]
    return Orphans(
        in_flight=len(begun - ended),
        begun_again=sorted(again.values()),
        held_up=sum(seconds > WINDOW_SECONDS for seconds in late),
        last_end=max(late, default=0.0),
    )
