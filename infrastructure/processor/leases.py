"""The leases that this process holds, by its own clock.

The database's clock decides who holds a job; this one only decides when *we* stop
believing so.  CLOCK_BOOTTIME also runs while the machine sleeps, and every lease is
counted from before its confirmation was sent, so our belief always ends first
(mechanisms 23).
"""

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from application.job_kinds import AnyKind
from infrastructure.processor.claimed import ClaimedJob


def boottime() -> float:
    """Return seconds since boot, sleep included."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


@dataclass(slots=True)
class Held:
    """One claimed job in this process, from its claim to its settlement."""

    job: ClaimedJob
    kind: AnyKind
    lease_ends_at: float
    """When our belief in the lease ends, in boot time."""
    begun_at: float | None = None
    """When its handler began; None while it is buffered."""
    is_alone: bool = False
    """Whether it was claimed as a suspect, to run in a process of its own."""
    cancel_requested: bool = False
    is_lost: bool = False
    """A superior claim exists, or the head is gone: nothing we do counts."""
    is_ended: bool = False
    """An ending was handed to the settler; a later one of the handler is dropped."""
    has_returned: bool = False
    """Whether its handler runs no more, whatever ended the run."""
    called_provider: bool = False
    progress: str | None = None
    """JSON text that the next heartbeat saves; None when there is nothing new."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def show(self, progress: str) -> None:
        """Let the next heartbeat save `progress`."""
        with self.lock:
            self.progress = progress

    def take_progress(self) -> str | None:
        """Return what is new since this was last asked."""
        with self.lock:
            new, self.progress = self.progress, None
            return new

    def end(self) -> bool:
        """Whether the caller is the first to end this run."""
        with self.lock:
            first = not self.is_ended
            self.is_ended = True
            return first

    def end_unless_called(self) -> bool:
        """Whether the run is ended now, because it never asked a provider."""
        with self.lock:
            first = not self.is_ended and not self.called_provider
            self.is_ended |= first
            return first

    @property
    def lingers(self) -> bool:
        """Whether its handler runs on, whatever has ended the run."""
        return self.begun_at is not None and not self.has_returned

    def run_ends_at(self) -> float:
        """Return when the hard deadline of the run is, in boot time."""
        begun = self.lease_ends_at if self.begun_at is None else self.begun_at
        return begun + self.kind.deadline_seconds

    def is_overdue(self, now: float) -> bool:
        """Whether its handler has begun, and should have returned by now."""
        return self.begun_at is not None and now > self.run_ends_at()


@dataclass(frozen=True, slots=True)
class Confirmation:
    """What a heartbeat learned about one job."""

    job_id: UUID
    token: int
    is_confirmed: bool
    is_lost: bool
    cancel_requested: bool


class Leases:
    """All jobs that this process holds; safe for its threads."""

    def __init__(self, clock: Callable[[], float] = boottime) -> None:
        """Start empty, counting by `clock`."""
        self._clock = clock
        self.are_kept = threading.Event()
        """Set while the last heartbeat was answered."""
        self._held: dict[UUID, Held] = {}
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)

    def now(self) -> float:
        """Return the present boot time."""
        return self._clock()

    def take(
        self,
        jobs: Iterable[tuple[ClaimedJob, AnyKind]],
        since: float,
        *,
        alone: bool = False,
    ) -> list[Held]:
        """Hold claimed jobs whose leases count from `since`, before the claim."""
        held = [
            Held(job, kind, since + kind.lease_seconds, is_alone=alone)
            for job, kind in jobs
        ]
        with self._changed:
            self._held.update({each.job.id: each for each in held})
        return held

    def drop(self, jobs: Iterable[Held]) -> None:
        """Forget jobs that are settled or lost, unless they were claimed anew."""
        with self._changed:
            for held in jobs:
                newer = self._held.pop(held.job.id, held)
                if newer is not held:
                    self._held[held.job.id] = newer
            if not self._held:
                self._changed.notify_all()

    def all(self) -> Sequence[Held]:
        """Return every job that is held now."""
        with self._lock:
            return list(self._held.values())

    def wait_empty(self, timeout: float) -> bool:
        """Whether nothing was held any more within `timeout` seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._held, timeout)

    def confirm(self, answers: Iterable[Confirmation], since: float) -> list[Held]:
        """Apply a heartbeat that was sent at `since`; return what was lost by it."""
        lost: list[Held] = []
        with self._lock:
            for answer in answers:
                held = self._held.get(answer.job_id)
                # The same job may have been claimed anew since the question.
                if held is None or held.job.token != answer.token:
                    continue
                if answer.is_confirmed:
                    held.lease_ends_at = since + held.kind.lease_seconds
                    held.cancel_requested |= answer.cancel_requested
                elif answer.is_lost and not held.is_lost:
                    held.is_lost = True
                    # What was just settled is gone as well, and nobody's loss.
                    lost += () if held.is_ended else (held,)
        return lost
