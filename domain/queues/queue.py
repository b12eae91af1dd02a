"""One queue, as people have set it: paused until when, and how much of it may run.

not paused ──Pause──► paused until then; what runs goes on, nothing is claimed
paused, by the same person for the same reason ──Pause──► paused until the new instant
paused otherwise ──Pause──► refused: by whom and until when
paused ──Resume, or the instant comes──► not paused
any ──Limit──► at most so many of its jobs run at once, in the whole installation

No stream: a row, and what people did to it is on record as actions.
"""

from datetime import timedelta
from typing import Final, assert_never

import msgspec
from msgspec.structs import replace

from domain.errors import DomainError
from domain.event import Instant
from domain.members import invalid

LONGEST_PAUSE: Final = timedelta(hours=24)
MOST_CONCURRENT: Final = 10_000

STANDARD: Final = ("critical", "default", "bulk")
"""The queues that every worker serves."""


class QueuePause(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Until when a queue is paused, by whom and why."""

    at: Instant
    """Since when, however often it was renewed."""
    until: Instant
    by: str
    reason: str


class Queue(msgspec.Struct, frozen=True, kw_only=True):
    """What people have set of one queue; version 0: nobody has set anything."""

    name: str
    version: int = 0
    concurrency: int | None = None
    """How many of its jobs may run at once, over all processes; None: no limit."""
    pause: QueuePause | None = None
    """The last one, which may be over; see `pause_at`."""

    def pause_at(self, now: Instant) -> QueuePause | None:
        """Return the pause that is in force."""
        return self.pause if self.pause is not None and now < self.pause.until else None


_PROGRAM: Final = "token:"
"""What the log writes before the name of a program."""


class QueuePausedError(DomainError):
    """The queue is paused, by somebody else or for another reason."""

    code = "queue_paused"

    def __init__(self, queue: str, pause: QueuePause) -> None:
        """Name the queue, by whom it is paused and until when."""
        self.queue = queue
        self.pause = pause
        by = pause.by.removeprefix(_PROGRAM)  # else redaction takes it for a secret
        super().__init__(
            f"{self.code}: queue {queue} is paused by {by} until "
            f"{pause.until:%Y-%m-%d %H:%M:%S}Z, in other words; resume it first"
        )


class Pause(msgspec.Struct, frozen=True, kw_only=True):
    """Let nothing of the queue be claimed until an instant."""

    until: Instant
    by: str
    reason: str


class Resume(msgspec.Struct, frozen=True, kw_only=True):
    """Let it be claimed again, whoever paused it."""


class Limit(msgspec.Struct, frozen=True, kw_only=True):
    """Let at most so many of its jobs run at once; None: as many as there are slots."""

    concurrency: int | None


type QueueCommand = Pause | Resume | Limit


def changed(queue: Queue, command: QueueCommand, now: Instant) -> Queue:
    """Return the queue after `command`; itself when it is so already.

    Raises:
        InvalidRequestError: the instant or the number is out of its range.
        QueuePausedError: somebody has paused it in other words.
    """
    match command:
        case Pause():
            after = replace(queue, pause=_paused(queue, command, now))
        case Resume():
            # What is over needs no resumption, and no other version.
            is_paused = queue.pause_at(now) is not None
            after = replace(queue, pause=None) if is_paused else queue
        case Limit(concurrency=n):
            if n is not None and not 1 <= n <= MOST_CONCURRENT:
                rule = f"a number from 1 to {MOST_CONCURRENT}, or none for no limit"
                invalid("concurrency", rule)
            after = replace(queue, concurrency=n)
        case _:
            assert_never(command)
    return queue if after == queue else replace(after, version=queue.version + 1)


def _paused(queue: Queue, command: Pause, now: Instant) -> QueuePause:
    if not now < command.until <= now + LONGEST_PAUSE:
        invalid("expiresAt", "an instant that is to come, at most 24 hours from now")
    before = queue.pause_at(now)
    if before is None:
        return QueuePause(
            at=now, until=command.until, by=command.by, reason=command.reason
        )
    if (before.by, before.reason) != (command.by, command.reason):
        raise QueuePausedError(queue.name, before)
    return replace(before, until=command.until)
