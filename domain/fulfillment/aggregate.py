"""Decide and evolve: one operation on a panel, from its request to its end.

            Request            StartAttempt               Succeed
 (unborn) ───────────► pending ────────────► running ───────────────► succeeded ■
                        ▲  │                 │ ▲   │
                        │  │    FailAttempt, │ │   └── Fail ──────────► failed
                        │  │    Interrupt,   ▼ │ StartAttempt            │  │
                        │  │    Park       retrying ──── Fail ───────────┘  │
                        │  └─ Cancel, Cover ──┴──────────► cancelled ■ ◄────┘ Cancel
                        └──────────────── Retry (operator) ─────────────────┘
 Retry also ends the waiting of one that is retrying: it is pending, and due now.

The job that carries an operation decides when it runs and when its budget is
spent; the operation's events follow the job's in the same transaction
(`application.fulfillment.record`).
"""

from enum import StrEnum
from typing import assert_never
from uuid import UUID

from msgspec.structs import replace

from domain.entitlement.state import Desired
from domain.errors import IllegalTransitionError
from domain.event import Instant
from domain.fulfillment.commands import (
    Cancel,
    Cover,
    Fail,
    FailAttempt,
    FulfillmentCommand,
    Interrupt,
    Park,
    Request,
    Retry,
    StartAttempt,
    Succeed,
)
from domain.fulfillment.events import (
    AttemptFailed,
    AttemptStarted,
    Cancelled,
    Failed,
    FulfillmentEvent,
    Interrupted,
    Parked,
    Requested,
    Retried,
    Succeeded,
)
from domain.stream import State


class Stage(StrEnum):
    """Where an operation is in its life; the stored words."""

    UNBORN = "unborn"
    PENDING = "pending"
    RUNNING = "running"
    RETRYING = "retrying"
    FAILED = "failed"
    SUCCEEDED = "succeeded"
    CANCELLED = "cancelled"


OPEN = frozenset({Stage.PENDING, Stage.RUNNING, Stage.RETRYING})
"""Stages in which something will still happen without a person."""

COVERING = OPEN | {Stage.SUCCEEDED}
"""Stages in which a later `create` covers an earlier operation."""


class FulfillmentOperation(State, frozen=True, kw_only=True):
    """What the rules remember of one operation; the head's folded columns."""

    stage: Stage = Stage.UNBORN
    entitlement: UUID | None = None
    order: UUID | None = None
    operation: str = ""
    desired_version: int = 0
    desired: Desired | None = None
    effective_at: Instant | None = None
    idempotency_key: str = ""
    attempts: int = 0
    code: str | None = None
    """What the last unfinished or final attempt met."""
    parked_cause: str | None = None
    """The present episode of parking; None when there is none."""
    next_attempt_at: Instant | None = None
    covered_by: UUID | None = None


_DUE = (Stage.PENDING, Stage.RETRYING)
_UNFINISHED = (Stage.PENDING, Stage.RUNNING, Stage.RETRYING)


def decide(
    operation: FulfillmentOperation, command: FulfillmentCommand
) -> tuple[FulfillmentEvent, ...]:
    """Return the facts that `command` causes; none means "already so".

    Raises:
        IllegalTransitionError: the command makes no sense at this stage.
    """
    match command:
        case Request():
            return _request(operation, command)
        case StartAttempt():
            _require(operation, "start an attempt", *_DUE)
            return (
                AttemptStarted(attempt=operation.attempts + 1, calls=command.calls),
            )
        case Succeed():
            _require(operation, "succeed", Stage.RUNNING)
            return (Succeeded(attempt=operation.attempts, observed=command.observed),)
        case Retry():
            _require(operation, "retry", Stage.FAILED, Stage.RETRYING)
            return (Retried(),)
        case Cover():
            _require(operation, "cover", *_DUE)
            return (Cancelled(code="covered_by", covered_by=command.covered_by),)
        case Cancel():
            return _cancel(operation, command)
        case FailAttempt() | Interrupt() | Park() | Fail():
            return _unfinished(operation, command)
        case _:
            assert_never(command)


def _request(
    operation: FulfillmentOperation, command: Request
) -> tuple[FulfillmentEvent, ...]:
    _require(operation, "request", Stage.UNBORN)
    return (
        Requested(
            entitlement=command.entitlement,
            order=command.order,
            operation=command.operation,
            desired_version=command.desired_version,
            desired=command.desired,
            effective_at=command.effective_at,
            idempotency_key=command.idempotency_key,
        ),
    )


def _cancel(
    operation: FulfillmentOperation, command: Cancel
) -> tuple[FulfillmentEvent, ...]:
    if operation.stage is Stage.CANCELLED:
        return ()
    _require(operation, "cancel", *_UNFINISHED, Stage.FAILED)
    return (Cancelled(code=command.code, covered_by=None),)


def _unfinished(
    operation: FulfillmentOperation, command: FailAttempt | Interrupt | Park | Fail
) -> tuple[FulfillmentEvent, ...]:
    _require(operation, type(command).__name__.lower(), *_UNFINISHED)
    match command:
        case FailAttempt():
            return (
                AttemptFailed(
                    attempt=operation.attempts,
                    code=command.code,
                    retry_at=command.retry_at,
                ),
            )
        case Interrupt():
            if operation.stage is not Stage.RUNNING:
                return ()
            return (Interrupted(attempt=operation.attempts, cause=command.cause),)
        case Park():
            return _park(operation, command)
        case Fail():
            return (Failed(attempt=operation.attempts, code=command.code),)
        case _:
            assert_never(command)


def _park(
    operation: FulfillmentOperation, command: Park
) -> tuple[FulfillmentEvent, ...]:
    if command.is_new or operation.parked_cause != command.cause:
        return (Parked(cause=command.cause),)
    if operation.stage is not Stage.RUNNING:
        return ()
    # The episode is on record already; the attempt that looked once more is not.
    return (Interrupted(attempt=operation.attempts, cause=command.cause),)


def _require(operation: FulfillmentOperation, command: str, *stages: Stage) -> None:
    if operation.stage not in stages:
        raise IllegalTransitionError(operation.stage, command, stream="operation")


def evolve(
    operation: FulfillmentOperation, event: FulfillmentEvent
) -> FulfillmentOperation:
    """Return the state after `event`.  Total: history is never rejected."""
    operation = replace(operation, version=operation.version + 1)
    match event:
        case Requested():
            return _born(operation, event)
        case AttemptStarted():
            running = replace(operation, stage=Stage.RUNNING, next_attempt_at=None)
            return replace(running, attempts=event.attempt)
        case AttemptFailed():
            failed = _retrying(operation, event.code)
            return replace(failed, next_attempt_at=event.retry_at, parked_cause=None)
        case Interrupted():
            return _retrying(operation, event.cause)
        case Parked():
            parked = _retrying(operation, event.cause)
            return replace(parked, parked_cause=event.cause, next_attempt_at=None)
        case Succeeded():
            done = replace(operation, stage=Stage.SUCCEEDED)
            return replace(done, code=None, parked_cause=None)
        case Failed():
            return _ended(operation, Stage.FAILED, event.code)
        case Cancelled():
            ended = _ended(operation, Stage.CANCELLED, event.code)
            return replace(ended, covered_by=event.covered_by)
        case Retried():
            again = replace(operation, stage=Stage.PENDING, code=None)
            return replace(again, parked_cause=None, next_attempt_at=None)
        case _:
            assert_never(event)


def _retrying(operation: FulfillmentOperation, code: str) -> FulfillmentOperation:
    return replace(operation, stage=Stage.RETRYING, code=code)


def _born(operation: FulfillmentOperation, event: Requested) -> FulfillmentOperation:
    return replace(
        operation,
        stage=Stage.PENDING,
        entitlement=event.entitlement,
        order=event.order,
        operation=event.operation,
        desired_version=event.desired_version,
        desired=event.desired,
        effective_at=event.effective_at,
        idempotency_key=event.idempotency_key,
    )


def _ended(
    operation: FulfillmentOperation, stage: Stage, code: str
) -> FulfillmentOperation:
    return replace(
        operation, stage=stage, code=code, parked_cause=None, next_attempt_at=None
    )
