"""The worker's side of cells: start one for a suspect, serve it, and see how it ends.

Ended             ► what the handler said
gone, had begun   ► the process died of it: `LeaseLost(died=True)`
gone, had not     ► nothing was proved: given back, still a suspect
overdue           ► killed, `handler_timeout`
lost, given back  ► killed
"""

import os
import sys
import threading
from typing import Final, assert_never

from domain.jobs.outcome import Retry
from domain.jobs.verdict import LONGEST_NAME, Ending, Interrupted, LeaseLost
from domain.text import clean, cut, storable
from infrastructure.processor.leases import Held, Leases
from infrastructure.processor.running import (
    TIMED_OUT,
    RunContext,
    progress_text,
    unfit,
)
from infrastructure.processor.suspects.endings import ending_of
from infrastructure.processor.suspects.leash import Cell, Warden
from infrastructure.processor.suspects.wire import (
    Answer,
    Ask,
    Began,
    Ended,
    FromCell,
    Log,
    Progress,
    Recipe,
    Task,
    Unready,
    WireError,
    message_of,
)
from infrastructure.telemetry import emit

_LOOK_SECONDS: Final = 0.25
"""How soon a cell is killed once its run is over."""

_SET_UP_SECONDS: Final = 30.0
_AGAIN_SECONDS: Final = 5.0
_NOT_READY: Final = Interrupted(cause="cell_not_ready", wait_seconds=_AGAIN_SECONDS)
_OVER: Final = Interrupted(cause="lease_lost")
_UNREADABLE: Final = "what its process said could not be read"


class Cells:
    """Runs suspects for one worker, each alone in a process of its own."""

    def __init__(self, recipe: Recipe, leases: Leases) -> None:
        """Make kinds by `recipe`, in the environment of now: handlers may change it."""
        self._recipe = recipe
        self._leases = leases
        self._warden = Warden(recipe.module, dict(os.environ), list(sys.path))
        self._runs: list[_Run] = []
        self._lock = threading.Lock()

    def run(self, held: Held) -> Ending:
        """Return how the run of a suspect ended; never raises."""
        refused = unfit(held, self._leases)
        if refused is not None:
            return refused
        try:
            cell = self._warden.cell()
        except OSError as error:
            emit("no cell", job=str(held.job.id), error=type(error).__name__)
            return _NOT_READY
        run = _Run(held, self._leases, cell)
        self._begin(run)
        try:
            return run.until_over(self._recipe)
        finally:
            cell.close()
            self._end(run)
            if cell.is_deaf:
                self._warden.renew(cell.forker)

    def _begin(self, run: "_Run") -> None:
        with self._lock:
            self._runs.append(run)
            if len(self._runs) > 1:
                for each in self._runs:
                    each.has_company = True

    def _end(self, run: "_Run") -> None:
        with self._lock:
            self._runs.remove(run)

    @property
    def forker_pid(self) -> int | None:
        """The process that forks the cells, once there is one."""
        return self._warden.pid

    def close(self) -> None:
        """End all cells, and what forks them."""
        self._warden.close()


class _Run:
    """One suspect in its cell, until it is over."""

    def __init__(self, held: Held, leases: Leases, cell: Cell) -> None:
        self._held = held
        self._leases = leases
        self._cell = cell
        self._context = RunContext(held, leases)
        self._ready_by = leases.now() + _SET_UP_SECONDS
        self.has_company = False
        """Whether another cell of the same forker has lived meanwhile."""

    def until_over(self, recipe: Recipe) -> Ending:
        wire = self._cell.wire
        try:
            wire.send(Task(self._held.job, recipe))
            while (over := self._over()) is None:
                frame = wire.receive(_LOOK_SECONDS)
                ending = None if frame is None else self._heard(message_of(frame))
                if ending is not None:
                    return ending
        except WireError:
            return self._gone()
        return over

    def _over(self) -> Ending | None:
        """Return how the run is over whatever its cell says; None if it is not."""
        held, now = self._held, self._leases.now()
        if held.is_ended or held.is_lost:
            return _OVER
        if held.begun_at is None:
            return _NOT_READY if now > self._ready_by else None
        return TIMED_OUT if held.is_overdue(now) else None

    def _heard(self, message: FromCell) -> Ending | None:
        held = self._held
        match message:
            case Began():
                held.begun_at = held.begun_at or self._leases.now()
            case Ask():
                self._cell.wire.send(Answer(self._answer(message)))
            case Progress():
                held.show(_progress(message))
            case Log():
                _pass_on(message)
            case Ended():
                return _ended(message)
            case Unready():
                emit("cell not ready", job=str(held.job.id), error=message.error)
                return _NOT_READY
            case _:
                assert_never(message)
        return None

    def _answer(self, question: Ask) -> float:
        match question.what:
            case "cancel_requested":
                return float(self._context.cancel_requested)
            case "seconds_left":
                return self._context.seconds_left
            case "may_begin":
                return float(self._context.may_begin())
            case _:
                assert_never(question.what)

    def _gone(self) -> Ending:
        """Return what it means that nothing more comes out of the cell."""
        held, job = self._held, self._held.job
        code = self._cell.exit_code()
        if held.begun_at is None or (code is None and self.has_company):
            # Before it began nothing was the job's doing; and what ends the forker ends
            # every cell, so that one of several is not proved to have done it.
            emit("cell not ready", job=str(job.id), error=_told(code))
            return _NOT_READY
        emit("suspect died", job=str(job.id), kind=job.kind, how=_told(code))
        return LeaseLost(
            cause="process_gone",
            call_began=held.called_provider,
            died=True,
            was_only=True,
            how=_told(code),
        )


def _ended(message: Ended) -> Ending:
    try:
        return ending_of(message)
    except WireError:
        return Retry(code="handler_crashed", error=_UNREADABLE)


def _progress(message: Progress) -> str:
    try:
        return progress_text(message.value)
    except ValueError as error:
        raise WireError(type(error).__name__) from error


def _pass_on(message: Log) -> None:
    values = {
        cut(clean(name), LONGEST_NAME): storable(value)
        if isinstance(value, str)
        else value
        for name, value in message.values.items()
        if name != "event"
    }
    emit(cut(clean(message.event), LONGEST_NAME), **values)


def _told(code: int | None) -> str:
    """Return in words how a process ended."""
    if code is None:
        return "an end with all others"
    return f"exit code {code}" if code >= 0 else f"signal {-code}"
