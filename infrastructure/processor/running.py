"""Run one claimed job: decode, check, handle; whatever happens becomes an ending."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

import msgspec

from domain.event import JsonObject
from domain.jobs.aggregate import Job, Stage
from domain.jobs.outcome import (
    Ambiguous,
    Cancel,
    Completed,
    Fail,
    Park,
    Retry,
    Snooze,
)
from domain.jobs.verdict import Ending, Interrupted, Unfit, before_run
from domain.text import storable
from infrastructure.errors import DatabaseUnavailableError
from infrastructure.processor.claimed import ClaimedJob
from infrastructure.processor.leases import Held, Leases
from infrastructure.telemetry import emit


@dataclass(frozen=True, slots=True)
class RunContext:
    """See `application.context.Context`; bound to one claim."""

    held: Held
    leases: Leases

    @property
    def job_id(self) -> UUID:
        """See `Context.job_id`."""
        return self.held.job.id

    @property
    def tenant_id(self) -> str:
        """See `Context.tenant_id`."""
        return self.held.job.tenant_id

    @property
    def correlation_id(self) -> str:
        """See `Context.correlation_id`."""
        return self.held.job.correlation_id

    @property
    def attempt(self) -> int:
        """See `Context.attempt`."""
        return self.held.job.attempt

    @property
    def token(self) -> int:
        """See `Context.token`."""
        return self.held.job.token

    @property
    def cancel_requested(self) -> bool:
        """See `Context.cancel_requested`."""
        return self.held.cancel_requested

    @property
    def seconds_left(self) -> float:
        """See `Context.seconds_left`."""
        if self.held.is_lost or self.held.is_ended:
            return 0.0
        ends_at = min(self.held.lease_ends_at, self.held.run_ends_at())
        return max(ends_at - self.leases.now(), 0.0)

    def may_begin(self) -> bool:
        """See `Context.may_begin`."""
        with self.held.lock:
            # Under the lock, so that a stop which gives the job back and a call
            # which begins cannot both believe that they were first.
            may = self.seconds_left > self.held.kind.call_seconds
            self.held.called_provider |= may
        return may

    def progress(self, value: JsonObject) -> None:
        """See `Context.progress`."""
        # Encoded here: what is no JSON is the handler's fault, not the heartbeat's.
        self.held.show(msgspec.json.encode(value).decode())

    def log(self, event: str, **values: str | float | bool | None) -> None:
        """See `Context.log`."""
        job = self.held.job
        emit(event, job=str(job.id), kind=job.kind, attempt=job.attempt, **values)


def run(held: Held, leases: Leases) -> Ending:
    """Return how the run of one claimed job ended; never raises."""
    job = held.job
    if held.is_lost or leases.now() >= held.lease_ends_at:
        # It waited here for too long, or the process was frozen: it may have a new
        # holder.  If not, it is given back untouched.
        return Interrupted(cause="lease_lost")
    if held.cancel_requested:
        return Interrupted(cause="cancel_requested")
    refused = before_run(_as_state(job), held.kind.budget, job.claimed_at)
    if refused is not None:
        return refused
    try:
        args = msgspec.json.decode(job.args, type=held.kind.args)
    except (msgspec.ValidationError, msgspec.DecodeError, RecursionError) as error:
        return Unfit(code="undecodable", error=storable(str(error)))
    held.begun_at = leases.now()
    return _handled(held, args, RunContext(held, leases))


def _handled(held: Held, args: Any, context: RunContext) -> Ending:  # noqa: ANN401 - the struct of the kind, decoded just before
    try:
        outcome = held.kind.handler(args, context)
        fault = _fault(outcome)
    except DatabaseUnavailableError as error:
        return _without_database(held, error)
    except BaseException as error:  # noqa: BLE001 - the job runner: a handler may raise anything, SystemExit too
        return _crashed(held, _told(error))
    return outcome if fault is None else fault(held)


def _without_database(held: Held, error: DatabaseUnavailableError) -> Ending:
    """Give the attempt back unless a provider was asked in it (I3)."""
    emit("run lost the database", job=str(held.job.id), error=storable(str(error)))
    if held.called_provider:
        return Retry(code=error.code, error=storable(str(error)))
    return Interrupted(cause=error.code, wait_seconds=_DATABASE_WAIT_SECONDS)


_DATABASE_WAIT_SECONDS: Final = 1.0


def _crashed(held: Held, told: str) -> Retry:
    error = storable(told)
    job = held.job
    emit("handler crashed", job=str(job.id), kind=job.kind, error=error)
    return Retry(code="handler_crashed", error=error)


def _told(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # noqa: BLE001 - an exception of the handler's own make may fail to show itself
        return type(error).__name__


_OUTCOMES: Final = (Completed, Retry, Snooze, Park, Fail, Cancel, Ambiguous)

_SHAPES: Final = {
    outcome: msgspec.defstruct(
        outcome.__name__,
        [
            (field.name, field.type)
            for field in msgspec.structs.fields(outcome)
            if field.name != "changes"
        ],
    )
    for outcome in _OUTCOMES
}
"""What each outcome has to look like, beside its changes."""


_PLAIN: Final = Completed()


def _fault(outcome: object) -> Callable[[Held], Ending] | None:
    """Return what a handler's answer becomes if it is none, or None if it is one.

    The types are promises of the handler alone; what breaks them must not be
    stored, because no reader could decode it again.
    """
    if not isinstance(outcome, _OUTCOMES):
        told = f"the handler returned {type(outcome).__name__}, not an Outcome"
        return lambda held: _crashed(held, told)
    if outcome == _PLAIN:
        return None
    try:
        msgspec.convert(msgspec.structs.asdict(outcome), _SHAPES[type(outcome)])
    except msgspec.ValidationError as error:
        told = f"the handler returned a malformed outcome: {error}"
        return lambda held: _crashed(held, told)
    if isinstance(outcome, Completed) and outcome.result is not None:
        try:
            msgspec.json.encode(outcome.result)
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            unstorable = Fail(code="unstorable_result", error=_told(error))
            return lambda _held: unstorable
    return None


def _as_state(job: ClaimedJob) -> Job:
    return Job(
        version=job.token,
        stage=Stage.RUNNING,
        kind=job.kind,
        attempt=job.attempt,
        max_attempts=job.max_attempts,
        deadline=job.deadline,
        token=job.token,
    )
