"""People move a job that waits: to a later instant, or to now.

Postpone leaves its attempts as they are; Hasten resets its budget, as a retry of what
is dead does.  A job that waits at a closed gate goes on when that opens, so it is not
moved.
"""

import msgspec

from domain.errors import IllegalTransitionError
from domain.event import Instant
from domain.jobs.aggregate import Job, Stage
from domain.jobs.events import RETRIED, SNOOZED, Rescheduled

HELD = "held at a closed gate"
"""What a waiting job is called that only a gate's opening lets go on."""


class Postpone(msgspec.Struct, frozen=True, kw_only=True):
    """Let a waiting job wait until `until`; its attempts stay as they are."""

    until: Instant


class Hasten(msgspec.Struct, frozen=True, kw_only=True):
    """Let a waiting job run now, with its budget reset."""

    now: Instant


def move(job: Job, command: Postpone | Hasten) -> tuple[Rescheduled, ...]:
    """Return the facts that the command causes; none means "already so".

    Raises:
        IllegalTransitionError: it does not wait, or a gate holds it.
    """
    name = "snooze" if isinstance(command, Postpone) else "retry"
    if job.stage is not Stage.WAITING or job.gate is not None:
        stage = job.stage if job.gate is None else HELD
        raise IllegalTransitionError(stage, name, stream="job")
    if isinstance(command, Postpone):
        if job.run_at == command.until and job.cause is None:
            return ()
        until = command.until
        return (Rescheduled(attempt=job.attempt, run_at=until, cause=SNOOZED),)
    is_due = job.run_at is not None and job.run_at <= command.now
    if is_due and job.cause is None and job.attempt == 0:
        return ()
    return (Rescheduled(attempt=0, run_at=command.now, cause=RETRIED),)
