"""Run one claimed job: decode, check, handle; whatever happens becomes an ending."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

import msgspec

from application.context import Context
from domain.errors import InvalidRequestError
from domain.event import JsonObject
from domain.jobs.aggregate import HANDLER_TIMEOUT, Job, Stage
from domain.jobs.exact import exact
from domain.jobs.outcome import (
    Ambiguous,
    Cancel,
    Completed,
    Fail,
    Gated,
    Park,
    Retry,
    Snooze,
)
from domain.jobs.verdict import Ending, Interrupted, Unfit, before_run
from domain.plain_json import cleaned, plain
from domain.text import storable, unquoted
from infrastructure.errors import DatabaseUnavailableError, said
from infrastructure.processor.claimed import ClaimedJob
from infrastructure.processor.leases import Held, Leases
from infrastructure.telemetry import Value, emit

LARGEST_PROGRESS_BYTES: Final = 65_536


def progress_text(value: JsonObject) -> str:
    """Return progress as it may be saved: cleaned JSON text.

    Whatever is wrong with it is the handler's fault, and told to it: not to the
    heartbeat, which saves everybody's.

    Raises:
        TypeError: it is no JSON.
        ValueError: it is too large or too deep.
    """
    told = msgspec.json.encode(cleaned(value))
    if len(told) > LARGEST_PROGRESS_BYTES:
        msg = f"progress: at most {LARGEST_PROGRESS_BYTES} bytes of JSON"
        raise ValueError(msg)
    return told.decode()


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
        self.held.show(progress_text(value))

    def log(self, event: str, /, **values: str | float | bool | None) -> None:
        """See `Context.log`."""
        tell(self.held.job, event, values)


def tell(job: ClaimedJob, event: str, values: Mapping[str, Value]) -> None:
    """Tell a line of a handler; what names the job is ours to say."""
    ours: dict[str, Value] = {
        "job": str(job.id),
        "kind": job.kind,
        "attempt": job.attempt,
    }
    emit(event, **(dict(values) | ours))


TIMED_OUT: Final = Retry(code=HANDLER_TIMEOUT, error="the hard deadline passed")


def run(held: Held, leases: Leases) -> Ending:
    """Return how the run of one claimed job ended; never raises."""
    refused = unfit(held, leases)
    if refused is not None:
        return refused
    args = decoded(held)
    if isinstance(args, Unfit):
        return args
    held.begun_at = leases.now()
    return handled(held, args, RunContext(held, leases))


def unfit(held: Held, leases: Leases) -> Ending | None:
    """Return how a claimed job ends before it has begun; None if it may begin."""
    job = held.job
    if held.is_lost or leases.now() >= held.lease_ends_at:
        # It waited here for too long, or the process was frozen: it may have a new
        # holder.  If not, it is given back untouched.
        return Interrupted(cause="lease_lost")
    if held.cancel_requested:
        return Interrupted(cause="cancel_requested")
    return before_run(_as_state(job), held.kind.budget, job.claimed_at)


def decoded(held: Held) -> Any | Unfit:  # noqa: ANN401 - the struct of the kind
    """Return the arguments as the kind's struct, whatever its own checks raise."""
    try:
        return msgspec.json.decode(held.job.args, type=held.kind.args)
    except BaseException as error:  # noqa: BLE001 - the job runner: a struct may have checks of its maker's own
        return Unfit(code="undecodable", error=storable(unquoted(said(error))))


def handled(held: Held, args: Any, context: Context) -> Ending:  # noqa: ANN401 - the struct of the kind, decoded just before
    """Return what the handler said, or what became of it instead; never raises."""
    try:
        ending = checked(_answer(held, args, context))
    except DatabaseUnavailableError as error:
        return _without_database(held, error)
    except BaseException as error:  # noqa: BLE001 - the job runner: a handler may raise anything, SystemExit too
        return _crashed(held, said(error))
    if isinstance(ending, Retry) and ending.code == _CRASHED:
        _tell_crash(held, ending)
    return ending


def _answer(held: Held, args: Any, context: Context) -> object:  # noqa: ANN401 - see `handled`
    """Return what the handler returns, in the process that it was called in.

    A copy of this process that a handler has made comes back here too.  It has none of
    our threads but this one, and would run other jobs a second time.
    """
    here = os.getpid()
    try:
        return held.kind.handler(args, context)
    finally:
        if os.getpid() != here:
            os._exit(os.EX_SOFTWARE)


def _without_database(held: Held, error: DatabaseUnavailableError) -> Ending:
    """Give the attempt back unless a provider was asked in it (I3)."""
    emit("run lost the database", job=str(held.job.id), error=storable(str(error)))
    if held.called_provider:
        return Retry(code=error.code, error=storable(str(error)))
    return Interrupted(cause=error.code, wait_seconds=_DATABASE_WAIT_SECONDS)


_DATABASE_WAIT_SECONDS: Final = 1.0


_CRASHED: Final = "handler_crashed"


def _crashed(held: Held, told: str) -> Retry:
    crash = Retry(code=_CRASHED, error=storable(told))
    _tell_crash(held, crash)
    return crash


def _tell_crash(held: Held, crash: Retry) -> None:
    job, error = held.job, crash.error.partition(":")[0]
    # Not what it said, which may quote arguments: that is told with the job (I12).
    told = error if error.isidentifier() else ""
    emit("handler crashed", job=str(job.id), kind=job.kind, error=told)


_OUTCOMES: Final = (Completed, Retry, Snooze, Park, Gated, Fail, Cancel, Ambiguous)

OUTCOME_SHAPES: Final = {
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


LARGEST_RESULT_BYTES: Final = 262_144
"""Of a result as JSON: as much as the front door takes as arguments."""


def checked(outcome: object) -> Ending:
    """Return a handler's answer, or what it becomes if it is none.

    The types are promises of the handler alone; what breaks them must not be
    stored, because no reader could decode it again.
    """
    if not isinstance(outcome, _OUTCOMES) or type(outcome) not in OUTCOME_SHAPES:
        told = f"the handler returned {type(outcome).__name__}, not an Outcome"
        return Retry(code=_CRASHED, error=told)
    if type(outcome) is Completed and _is_plain(outcome):
        return _PLAIN
    shape = OUTCOME_SHAPES[type(outcome)]
    try:
        members = msgspec.convert(msgspec.structs.asdict(outcome), shape)
        known = exact(outcome, members)
    except (msgspec.ValidationError, TypeError, ValueError, OverflowError) as error:
        told = f"the handler returned a malformed outcome: {error}"
        return Retry(code=_CRASHED, error=told)
    if isinstance(known, Completed) and known.result is not None:
        return _bounded(known)
    return known


def _is_plain(completed: Completed) -> bool:
    return completed.result is None and completed.changes is _PLAIN.changes


def _bounded(completed: Completed) -> Completed | Fail:
    """Return what can be stored and read again: bounded in size, depth and numbers."""
    try:
        told = msgspec.json.encode(completed.result)
        if len(told) <= LARGEST_RESULT_BYTES:
            # As it is now: the handler may have kept it, and go on changing it.
            result = msgspec.json.decode(told, type=dict[str, object])
            plain(result)
            return msgspec.structs.replace(completed, result=result)
        why = f"a result of {len(told)} bytes, over {LARGEST_RESULT_BYTES}"
    except _NO_RESULT as error:
        why = said(error)
    return Fail(code="unstorable_result", error=why)


_NO_RESULT: Final = (
    InvalidRequestError,
    msgspec.DecodeError,
    TypeError,
    ValueError,
    OverflowError,
    RecursionError,
)


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
