"""Let a waiting job wait longer: it does not run before an instant, and is as it was.

waiting job, and its record     ► due at `until`, by the database's clock
due then already                ► nothing, it is so already
held at a closed gate, running,
dead or over                    ► refused
"""

from dataclasses import dataclass
from functools import partial
from typing import Final

from application.errors import StateConflictError
from application.operators.action import GONE, Action, Done
from application.operators.changes import state_of, told
from application.operators.instruction import Instruction
from application.operators.refusals import JobMutationRejectedError, Refusals
from application.operators.target import FINAL, Target, Targets
from application.unit import Ids, Locked, Refused, UnitOfWork, Versions
from domain.access.permissions import Permission
from domain.errors import InvalidRequestError
from domain.event import Instant
from domain.jobs.aggregate import Job, Stage
from domain.jobs.moving import HELD, Postpone, move
from domain.operators.actions import JOB_SNOOZED
from domain.stream import Change, StreamKind

_PAST: Final = "not to come"
_NAMES: Final = {StreamKind.JOB: JOB_SNOOZED}


@dataclass(frozen=True, slots=True)
class SnoozeJob:
    """Snoozes on behalf of people."""

    targets: Targets
    units: UnitOfWork
    ids: Ids

    def __call__(
        self,
        key: str,
        until: Instant,
        instruction: Instruction,
        versions: Versions = None,
    ) -> Done:
        """Return what was done to the job, which does not run before `until`.

        Raises:
            InvalidRequestError: the instant is not to come.
            ApplicationError: as `Action` does.
        """
        action = Action(
            verb="snooze",
            names=_NAMES,
            decide=partial(_decide, until),
            permission=Permission.JOBS_WRITE,
            remedy=_remedy,
            targets=self.targets,
            units=self.units,
            refusals=Refusals(self.units, self.ids),
        )
        try:
            return action(key, instruction, versions)
        except (StateConflictError, JobMutationRejectedError) as error:
            if error.state == _PAST:
                code, path = "invalid_request", "until"
                rule = "an instant that is still to come"
                raise InvalidRequestError(code, path, rule) from error
            raise


def _decide(
    until: Instant, target: Target, locked: Locked, now: Instant
) -> tuple[Change, ...] | Refused:
    job = state_of(locked, target.job, Job)
    if target.job is None or job is None:
        return GONE
    if job.stage is not Stage.WAITING or job.gate is not None:
        return Refused(f"job_{HELD if job.gate is not None else job.stage}")
    if until <= now:
        return Refused(f"job_{_PAST}")
    postpone = Postpone(until=until)
    return told(locked, target.job, target.record, lambda it: move(it, postpone))


def _remedy(what: str, stage: str) -> str:
    match stage:
        case "running":
            return f"only a waiting {what} is snoozed; cancel it, or let it end"
        case "discarded" | "cancelled":
            return "a dead job does not run; leave it, or retry it"
        case "changing":
            return "ask again"
        case _ if stage == HELD:
            return "it waits for its gate, whenever it is due"
        case _:
            return FINAL
