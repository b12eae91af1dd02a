"""Ask a worker process to claim nothing more, with a reason, on record."""

from dataclasses import dataclass

from application.errors import ApplicationError, NotFoundError, StateConflictError
from application.once.commit import making
from application.operators.instruction import Instruction, as_given
from application.operators.refusals import DEFAULT_TENANT, About, Refusals
from application.operators.taken import Deed, taken
from application.queues.rows import Changed, WorkerRows
from application.unit import Ids, UnitOfWork
from domain.access.permissions import Permission
from domain.errors import IllegalTransitionError
from domain.event import Instant, JsonObject
from domain.operators.actions import WORKER_DRAINED
from domain.operators.events import ActionRefused, ActionTaken
from domain.queues.worker import Worker, drained

_WHAT = "worker"


@dataclass(frozen=True, slots=True)
class DrainWorker:
    """Drains workers on behalf of people."""

    rows: WorkerRows
    units: UnitOfWork
    ids: Ids

    def __call__(self, boot: str, instruction: Instruction) -> Changed[Worker]:
        """Return the process that was asked to drain: it knows within a second.

        It gives back what it holds and has not begun, ends what it runs, and stays
        idle until it is stopped; started again it claims again.

        Raises:
            ForbiddenError: whoever asks may not.
            NotFoundError: there is no such process, or not for them.
            StateConflictError: it has stopped, or is not heard of any more.
            DatabaseUnavailableError: nothing is known to be done.
        """
        try:
            return self._drained(boot, instruction)
        except ApplicationError as error:
            target = as_given(f"{_WHAT}:{boot}")
            refused = ActionRefused(
                action=WORKER_DRAINED, target=target, code=error.code
            )
            about = About(instruction.tenant_id or DEFAULT_TENANT, target)
            Refusals(self.units, self.ids).record(refused, instruction, about)
            raise

    def _drained(self, boot: str, instruction: Instruction) -> Changed[Worker]:
        instruction.require(Permission.QUEUES_WRITE)
        if not instruction.sees(DEFAULT_TENANT):
            raise NotFoundError(_WHAT, boot)
        meta = instruction.meta(as_given(f"{_WHAT}:{boot}"))
        try:
            once = making(instruction.once, _WHAT, boot)
            done = self.rows.change(boot, _decide, meta, once)
        except IllegalTransitionError as error:
            remedy = "its jobs come back by themselves when their leases end"
            raise StateConflictError(_WHAT, boot, error.stage, remedy) from error
        if done is None:
            raise NotFoundError(_WHAT, boot)
        return done


def _decide(worker: Worker, now: Instant) -> tuple[Worker, ActionTaken]:
    after = drained(worker, now)
    deed = Deed(action=WORKER_DRAINED, target_kind=_WHAT, target=str(worker.boot))
    return after, taken(deed, _figures(worker, now), _figures(after, now))


def _figures(worker: Worker, now: Instant) -> JsonObject:
    return {
        "state": worker.state(now),
        "host": worker.host,
        "pid": worker.pid,
        "running": worker.running,
    }
