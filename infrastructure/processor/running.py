"""Run one claimed job: decode, check, handle; whatever happens becomes an ending."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

import msgspec

from domain.event import JsonObject
from domain.jobs.aggregate import Job, Stage
from domain.jobs.outcome import Fail, Retry
from domain.jobs.verdict import Ending, before_run
from domain.text import storable
from infrastructure.processor.claim import ClaimedJob
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
        self.held.progress = value
        self.held.progress_is_new = True

    def log(self, event: str, **values: str | float | bool | None) -> None:
        """See `Context.log`."""
        job = self.held.job
        emit(event, job=str(job.id), kind=job.kind, attempt=job.attempt, **values)


def run(held: Held, leases: Leases) -> Ending:
    """Return how the run of one claimed job ended; never raises."""
    job = held.job
    refused = before_run(_as_state(job), held.kind.budget, job.claimed_at)
    if refused is not None:
        return refused
    try:
        args = msgspec.json.decode(job.args, type=held.kind.args)
    except (msgspec.ValidationError, msgspec.DecodeError) as error:
        return Fail(code="undecodable", error=storable(str(error)))
    held.begun_at = leases.now()
    return _handled(held, args, RunContext(held, leases))


def _handled(held: Held, args: Any, context: RunContext) -> Ending:  # noqa: ANN401 - the struct of the kind, decoded just before
    try:
        return held.kind.handler(args, context)
    except Exception as error:  # noqa: BLE001 - the job runner: a handler may raise anything
        # The type alone: a message may hold arguments or what a provider said.
        told = f"{type(error).__name__}: {error}"
        emit(
            "handler crashed",
            job=str(held.job.id),
            kind=held.job.kind,
            error=storable(told),
        )
        return Retry(code="handler_crashed", error=storable(told))


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
