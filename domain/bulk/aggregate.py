"""Decide and evolve: the life of one bulk operation.

          Request               Preview           Start
(unborn) ────────► previewing ──────────► ready ─────────► running ─────────► finished ■
                       │                   ▲                │   ▲    Finish
                       │ Preview,   Approve│           Pause│   │Resume
                       │ many items        │                ▼   │
                       └────────► awaiting_approval        paused

Cancel leads from every stage but `finished` to cancelled ■.
A job that ends before its work is done pauses the operation, or cancels it while
it is previewed: nothing has been done by then.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final, assert_never
from uuid import UUID

import msgspec
from msgspec.structs import replace

from domain.bulk.commands import (
    Approve,
    BulkCommand,
    Cancel,
    Finish,
    Freeze,
    Pause,
    Preview,
    Request,
    Resume,
    Start,
)
from domain.bulk.errors import SelfApprovalError
from domain.bulk.events import (
    Approved,
    BulkEvent,
    Cancelled,
    Finished,
    Frozen,
    Paused,
    Previewed,
    Requested,
    Resumed,
    Started,
)
from domain.errors import IllegalTransitionError
from domain.event import Actor, JsonObject
from domain.stream import State


class Stage(StrEnum):
    """Where a bulk operation is in its life; the stored words."""

    UNBORN = "unborn"
    PREVIEWING = "previewing"
    AWAITING_APPROVAL = "awaiting_approval"
    READY = "ready"
    RUNNING = "running"
    PAUSED = "paused"
    FINISHED = "finished"
    CANCELLED = "cancelled"


BULK_LIMIT: Final = "bulk_limit"
"""More things were chosen than may be."""

FINAL: Final = frozenset({Stage.FINISHED, Stage.CANCELLED})


class BulkOperation(State, frozen=True, kw_only=True):
    """What the rules remember of one bulk operation; the head's folded columns."""

    stage: Stage = Stage.UNBORN
    action: str = ""
    parameters: JsonObject = msgspec.field(default_factory=dict[str, object])
    filter: str | None = None
    items_per_second: float = 0.0
    most_items: int = 0
    most_unapproved: int = 0
    requested_by: Actor | None = None
    role: str | None = None
    reason: str = ""
    is_frozen: bool = False
    items: int = 0
    position: int = 0
    verdicts: Mapping[str, int] = msgspec.field(default_factory=dict[str, int])
    approved_by: Actor | None = None
    job: UUID | None = None
    """That previews it or carries it out, or did last."""
    code: str | None = None
    """Why it is paused or cancelled."""


def decide(bulk: BulkOperation, command: BulkCommand) -> tuple[BulkEvent, ...]:
    """Return the facts that `command` causes; none means "already so".

    Raises:
        IllegalTransitionError: the command makes no sense at this stage.
        SelfApprovalError: whoever asked for it approves of it.
    """
    stage = bulk.stage
    match command:
        case Request():
            _require(bulk, "request", Stage.UNBORN)
            return (Requested(**msgspec.structs.asdict(command)),)
        case Freeze():
            return _frozen(bulk, command)
        case Preview():
            _require(bulk, "preview", Stage.PREVIEWING)
            if not bulk.is_frozen:
                raise _refused(bulk, "preview")
            return (Previewed(verdicts=command.verdicts),)
        case Approve():
            return _approved(bulk, command)
        case Start():
            if stage in {Stage.RUNNING, Stage.FINISHED}:
                return ()
            _require(bulk, "start", Stage.READY)
            return (Started(job=command.job),)
        case Pause():
            if stage is Stage.PAUSED:
                return ()
            _require(bulk, "pause", Stage.RUNNING)
            return (Paused(code=command.code),)
        case Resume():
            if stage is Stage.RUNNING:
                return ()
            _require(bulk, "resume", Stage.PAUSED)
            return (Resumed(job=command.job),)
        case Cancel():
            return _cancelled(bulk, command)
        case Finish():
            if stage is Stage.FINISHED:
                return ()
            _require(bulk, "finish", Stage.RUNNING)
            tally = command.tally
            return (Finished(done=tally.done, refused=tally.refused),)
        case _:
            assert_never(command)


def _frozen(bulk: BulkOperation, command: Freeze) -> tuple[BulkEvent, ...]:
    _require(bulk, "freeze", Stage.PREVIEWING)
    if bulk.is_frozen:
        return ()
    if command.items > bulk.most_items:
        return (Cancelled(code=BULK_LIMIT, done=0, refused=0, left=0),)
    return (Frozen(items=command.items, position=command.position),)


def _approved(bulk: BulkOperation, command: Approve) -> tuple[BulkEvent, ...]:
    if bulk.approved_by == command.by and bulk.stage is not Stage.CANCELLED:
        return ()
    _require(bulk, "approve", Stage.AWAITING_APPROVAL)
    if command.by == bulk.requested_by:
        raise SelfApprovalError(command.by.id)
    return (Approved(approved_by=command.by),)


def _cancelled(bulk: BulkOperation, command: Cancel) -> tuple[BulkEvent, ...]:
    if bulk.stage is Stage.CANCELLED:
        return ()
    if bulk.stage in {Stage.UNBORN, Stage.FINISHED}:
        raise _refused(bulk, "cancel")
    done, refused = command.tally.done, command.tally.refused
    left = bulk.items - done - refused
    return (Cancelled(code=command.code, done=done, refused=refused, left=left),)


def _require(bulk: BulkOperation, command: str, stage: Stage) -> None:
    if bulk.stage is not stage:
        raise _refused(bulk, command)


def _refused(bulk: BulkOperation, command: str) -> IllegalTransitionError:
    return IllegalTransitionError(bulk.stage, command, stream="bulk operation")


def evolve(bulk: BulkOperation, event: BulkEvent) -> BulkOperation:
    """Return the state after `event`.  Total: history is never rejected."""
    version = bulk.version + 1
    match event:
        case Requested():
            told = msgspec.structs.asdict(event)
            return BulkOperation(version=version, stage=Stage.PREVIEWING, **told)
        case Frozen():
            return replace(
                bulk,
                version=version,
                is_frozen=True,
                items=event.items,
                position=event.position,
            )
        case Previewed():
            is_free = bulk.items <= bulk.most_unapproved
            stage = Stage.READY if is_free else Stage.AWAITING_APPROVAL
            return replace(bulk, version=version, stage=stage, verdicts=event.verdicts)
        case Approved():
            by = event.approved_by
            return replace(bulk, version=version, stage=Stage.READY, approved_by=by)
        case Started() | Resumed():
            return replace(
                bulk, version=version, stage=Stage.RUNNING, job=event.job, code=None
            )
        case Paused():
            return replace(bulk, version=version, stage=Stage.PAUSED, code=event.code)
        case Cancelled():
            return replace(
                bulk, version=version, stage=Stage.CANCELLED, code=event.code
            )
        case Finished():
            return replace(bulk, version=version, stage=Stage.FINISHED)
        case _:
            assert_never(event)


def fold(
    events: Iterable[BulkEvent], bulk: BulkOperation | None = None
) -> BulkOperation:
    """Return the state after `events`."""
    state = BulkOperation() if bulk is None else bulk
    for event in events:
        state = evolve(state, event)
    return state
