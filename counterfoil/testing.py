"""Run one handler as a worker would, without a database.

    from counterfoil.testing import run

    def test_a_full_mailbox_is_tried_again() -> None:
        ended = run(MAIL, Mail("anna@full.example"))

        assert ended.state == "waiting"
        assert ended.error_code == "mailbox_full"

Arguments are decoded, the handler is run and its outcome is judged by the worker's
own code; a contract test holds all of it to a worker on PostgreSQL.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TypeIs

import msgspec

from application.admission import refusal_of
from application.job_kinds import AnyKind, JobKind
from counterfoil._recorded import Book, Line
from counterfoil._stored import as_read, as_stored, unstorable
from domain.event import Instant, JsonObject
from domain.jobs.aggregate import Job, Stage, fold
from domain.jobs.events import JobEvent
from domain.jobs.outcome import Completed, Fail
from domain.jobs.verdict import Ending, Interrupted, LeaseLost, Moment, Unfit, settle
from infrastructure.ids import new_id
from infrastructure.processor.claimed import ClaimedJob
from infrastructure.processor.leases import Held, Leases
from infrastructure.processor.running import run as run_claimed

__all__ = ["Interrupted", "Line", "Run", "Unfit", "run"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """How one run ended, and what the handler did on the way."""

    outcome: Ending
    """What the handler returned, or what became of it: a crash is a `Retry`, arguments
    that do not fit are `Unfit`, a run that must not begin is `Interrupted`."""
    event: JobEvent
    """The fact that the log would hold, decided at `at` and without jitter."""
    at: Instant
    """When the job was claimed and its outcome judged."""
    job: Job
    """The job after that."""
    progress: tuple[JsonObject, ...]
    """What heartbeats could have saved, in order."""
    log: tuple[Line, ...]
    """What the handler has logged, in order."""
    asked: tuple[bool, ...]
    """What `may_begin` has answered, in order."""
    exception: BaseException | None
    """What the handler has raised; its traceback leads to the line."""

    @property
    def state(self) -> str:
        """What the job is now: waiting, succeeded, discarded or cancelled."""
        return str(self.job.stage)

    @property
    def next_run_at(self) -> Instant | None:
        """When the job runs again; None when nothing runs it without a person."""
        return self.job.run_at if self.job.stage is Stage.WAITING else None

    @property
    def attempt(self) -> int:
        """Attempts that are spent now."""
        return self.job.attempt

    @property
    def code(self) -> str | None:
        """Why the job is dead, such as `permanent`, `budget_spent` or `undecodable`."""
        return self.job.code

    @property
    def error_code(self) -> str | None:
        """What the attempt met, by the handler's own code."""
        return self.job.error_code


def run(  # noqa: PLR0913 - a test names only what it is about
    kind: AnyKind,
    args: msgspec.Struct | Mapping[str, object] | None = None,
    *,
    attempt: int = 1,
    cancel_after: int | None = None,
    seconds_left: float | None = None,
    now: datetime | None = None,
) -> Run:
    """Return how a worker's run of one job of `kind` ends.

    `attempt` is the one that the run spends, from 1.  A cancel is requested once the
    handler has looked at `cancel_requested` so many times (0: as soon as it begins).
    Without `seconds_left` the lease is fresh; no time passes while the handler runs.
    `now` stands for the database's clock.

    Raises:
        InvalidRequestError: no job with these arguments could be enqueued.
        TypeError: `kind` is no job kind.
        ValueError: no worker would load the kind; its handler returned `changes`; or
            the scene is one that no worker meets.
    """
    _refuse_stranger(kind)
    _refuse_scene(attempt, cancel_after, now)
    claim = _claim(kind, as_stored(args), attempt, now or datetime.now(UTC))
    lease = kind.lease_seconds if seconds_left is None else seconds_left
    held = Held(claim, kind, lease_ends_at=float(lease))
    book = Book(held, cancel_after)
    held.kind = replace(kind, handler=book.around(kind.handler))
    ending = _recordable(kind, run_claimed(held, Leases(clock=lambda: 0.0)))
    job = Job(
        version=claim.token,
        stage=Stage.RUNNING,
        kind=kind.name,
        queue=kind.queue,
        attempt=attempt,
        token=claim.token,
        cancel_requested=held.cancel_requested,
    )
    moment = Moment(claim.claimed_at)
    (event,) = settle(job, _as_recorded(ending), kind.budget, moment)
    return Run(
        outcome=ending,
        event=event,
        at=claim.claimed_at,
        job=fold((event,), job),
        progress=tuple(book.progress),
        log=tuple(book.log),
        asked=tuple(book.asked),
        exception=book.exception,
    )


def _refuse_stranger(kind: object) -> None:
    if not _is_kind(kind):
        msg = f"kind: {type(kind).__name__} is no JobKind; call what makes it first"
        raise TypeError(msg)
    refusal = refusal_of(kind)
    if refusal is not None:
        raise _refused(kind, refusal)


def _is_kind(value: object) -> TypeIs[AnyKind]:
    return isinstance(value, JobKind)


def _refuse_scene(attempt: int, cancel_after: int | None, now: datetime | None) -> None:
    for is_right, rule in (
        (type(attempt) is int and attempt >= 1, "attempt: a whole number from 1"),
        (
            cancel_after is None or (type(cancel_after) is int and cancel_after >= 0),
            "cancel_after: a whole number from 0, or None",
        ),
        (
            now is None or now.utcoffset() is not None,
            "now: an instant with its offset; a naive one could mean any hour",
        ),
    ):
        if not is_right:
            raise ValueError(rule)


def _refused(kind: AnyKind, rule: str) -> ValueError:
    return ValueError(f"job kind {kind.name}: {rule}")


def _claim(kind: AnyKind, args: str, attempt: int, now: Instant) -> ClaimedJob:
    """Return the claim of a job that has failed in every attempt before."""
    return ClaimedJob(
        id=new_id(),
        tenant_id="default",
        kind=kind.name,
        token=2 * attempt,
        attempt=attempt,
        max_attempts=None,
        args=args,
        deadline=None,
        correlation_id="test",
        priority=1,
        queue=kind.queue,
        unique_key=None,
        due=bytes(8),
        claimed_at=now,
    )


def _recordable(kind: AnyKind, ending: Ending) -> Ending:
    """Return the ending that a worker is left with once it has recorded this one."""
    if isinstance(ending, Interrupted | LeaseLost | Unfit):
        return ending
    if ending.changes:
        raise _refused(kind, "changes are for the product's kinds; leave them out")
    if isinstance(ending, Completed) and ending.result is not None:
        fault = unstorable(ending.result)
        if fault is not None:
            return Fail(code="unstorable_result", error=fault)
    return ending


def _as_recorded(ending: Ending) -> Ending:
    """Return the ending as the log tells it: a number may be another kind of number."""
    if isinstance(ending, Completed) and ending.result is not None:
        return Completed(result=as_read(ending.result))
    return ending
