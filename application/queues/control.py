"""Pause, resume and limit queues, with a reason, on record.

Queues are the whole installation's: whoever belongs to another tenant than the
default one knows of none.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from application.errors import (
    ApplicationError,
    NotFoundError,
    VersionChangedError,
)
from application.once.commit import making
from application.operators.instruction import Instruction, as_given
from application.operators.refusals import DEFAULT_TENANT, About, Refusals
from application.operators.taken import Deed, taken
from application.queues.rows import Changed, QueueRows
from application.unit import Ids, UnitOfWork, Versions, is_seen
from domain.access.permissions import Permission
from domain.errors import DomainError
from domain.event import Instant, JsonObject
from domain.operators.actions import QUEUE_LIMITED, QUEUE_PAUSED, QUEUE_RESUMED
from domain.operators.events import ActionRefused, ActionTaken
from domain.queues.queue import Limit, Pause, Queue, QueueCommand, Resume, changed

_WHAT = "queue"


@dataclass(frozen=True, slots=True)
class ControlQueues:
    """Changes queues on behalf of people."""

    rows: QueueRows
    units: UnitOfWork
    ids: Ids

    def pause(
        self,
        name: str,
        until: Instant,
        instruction: Instruction,
        versions: Versions = None,
    ) -> Changed[Queue]:
        """Return the queue, paused until then; what runs goes on.

        Raises:
            ForbiddenError: whoever asks may not.
            NotFoundError: there is no such queue, or not for them.
            InvalidRequestError: the instant is past, or more than a day away.
            QueuePausedError: somebody has paused it in other words.
            VersionChangedError: it is at none of the `versions` that were given.
            DatabaseUnavailableError: nothing is known to be done.
        """
        command = Pause(until=until, by=instruction.actor.id, reason=instruction.reason)
        return self._on_record(QUEUE_PAUSED, name, command, instruction, versions)

    def resume(
        self, name: str, instruction: Instruction, versions: Versions = None
    ) -> Changed[Queue]:
        """Return the queue, claimed again, whoever had paused it.

        Raises:
            CounterfoilError: as `pause`.
        """
        return self._on_record(QUEUE_RESUMED, name, Resume(), instruction, versions)

    def limit(
        self,
        name: str,
        concurrency: int | None,
        instruction: Instruction,
        versions: Versions = None,
    ) -> Changed[Queue]:
        """Return the queue, of which so many jobs run at once; None: no limit.

        More than that may run when it is said: they go on, and none is claimed until
        fewer do.

        Raises:
            CounterfoilError: as `pause`.
        """
        command = Limit(concurrency=concurrency)
        return self._on_record(QUEUE_LIMITED, name, command, instruction, versions)

    def _on_record(
        self,
        action: str,
        name: str,
        command: QueueCommand,
        instruction: Instruction,
        versions: Versions,
    ) -> Changed[Queue]:
        change = partial(_change, action, command, versions)
        try:
            return self._changed(name, change, instruction)
        except (ApplicationError, DomainError) as error:
            target = as_given(f"{_WHAT}:{name}")
            refused = ActionRefused(action=action, target=target, code=error.code)
            about = About(instruction.tenant_id or DEFAULT_TENANT, target)
            Refusals(self.units, self.ids).record(refused, instruction, about)
            raise

    def _changed(
        self,
        name: str,
        change: Callable[[Queue, Instant], tuple[Queue, ActionTaken]],
        instruction: Instruction,
    ) -> Changed[Queue]:
        instruction.require(Permission.QUEUES_WRITE)
        if not instruction.sees(DEFAULT_TENANT):
            raise NotFoundError(_WHAT, name)
        meta = instruction.meta(as_given(f"{_WHAT}:{name}"))
        once = making(instruction.once, _WHAT, name)
        done = self.rows.change(name, change, meta, once)
        if done is None:
            raise NotFoundError(_WHAT, name)
        return done


def _change(
    action: str, command: QueueCommand, versions: Versions, queue: Queue, now: Instant
) -> tuple[Queue, ActionTaken]:
    if not is_seen(versions, queue.version):
        raise VersionChangedError(queue.name)
    after = changed(queue, command, now)
    deed = Deed(action=action, target_kind=_WHAT, target=queue.name)
    return after, taken(deed, _figures(queue, now), _figures(after, now))


def _figures(queue: Queue, now: Instant) -> JsonObject:
    pause = queue.pause_at(now)
    return {
        "version": queue.version,
        "concurrency": queue.concurrency,
        "paused_until": None if pause is None else pause.until.isoformat(),
    }
