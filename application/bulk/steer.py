"""Approve of a bulk operation, start, pause, resume or cancel it; each on record.

Whatever is asked for again is so already, and writes nothing more.  A job is born with
the start, and with a resume whose old job has ended; one that has not, goes on.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final
from uuid import UUID

import msgspec

from application import births
from application.bulk.progress import BulkHead
from application.bulk.request import KIND
from application.bulk.slice import bulk_of
from application.errors import (
    ApplicationError,
    NotFoundError,
    StateConflictError,
    VersionChangedError,
)
from application.once.commit import commit_once, making
from application.operators.instruction import Instruction, as_given
from application.operators.refusals import About, Refusals, about_nothing
from application.operators.taken import Deed, on_record
from application.policies import bulk as bulk_job
from application.ports import Streams
from application.unit import (
    Group,
    Ids,
    Locked,
    Refused,
    UnitOfWork,
    Versions,
    Written,
    changed,
    is_seen,
)
from domain.access.permissions import Permission
from domain.bulk.aggregate import BulkOperation, Stage, decide, fold
from domain.bulk.commands import (
    Approve,
    BulkCommand,
    Cancel,
    Pause,
    Resume,
    Start,
)
from domain.bulk.events import Resumed, Started
from domain.errors import DomainError, IllegalTransitionError
from domain.event import Actor, Instant
from domain.jobs.aggregate import Job
from domain.jobs.aggregate import Stage as JobStage
from domain.operators.actions import (
    BULK_APPROVED,
    BULK_CANCELLED,
    BULK_PAUSED,
    BULK_RESUMED,
    BULK_STARTED,
)
from domain.operators.events import ActionRefused
from domain.stream import Change, Ref, StreamKind

_WHAT: Final = "bulk operation"
_LIVE: Final = frozenset({JobStage.WAITING, JobStage.RUNNING})
_ROUNDS: Final = 3
_GONE: Final = Refused("gone")
_OTHER_VERSION: Final = Refused("other_version")

type Make = Callable[[BulkHead, UUID, Actor], BulkCommand]
"""The command for a locked operation, the job that would carry it on, and who asks."""


class Steered(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A bulk operation after a person's word."""

    bulk_id: UUID
    version: int
    state: str
    events: tuple[str, ...]
    """Tags of its events that were written; none: it was so already."""
    position: int
    """A reader at this position of the log sees them, or that it was so already."""


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that may be asked of a bulk operation."""

    verb: str
    action: str
    """The audit's name of it."""
    make: Make
    permission: Permission = Permission.BULK_WRITE


APPROVE: Final = Step(
    "approve",
    BULK_APPROVED,
    lambda _head, _job, by: Approve(by),
    Permission.BULK_APPROVE,
)
"""Let it begin, as another person than the one who asked."""
START: Final = Step("start", BULK_STARTED, lambda _head, job, _by: Start(job))
PAUSE: Final = Step("pause", BULK_PAUSED, lambda _head, _job, _by: Pause())
RESUME: Final = Step("resume", BULK_RESUMED, lambda _head, job, _by: Resume(job))
CANCEL: Final = Step(
    "cancel", BULK_CANCELLED, lambda head, _job, _by: Cancel(tally=head.tally)
)
"""Leave what was not begun."""

STEPS: Final = {step.verb: step for step in (APPROVE, START, PAUSE, RESUME, CANCEL)}


@dataclass(frozen=True, slots=True)
class SteerBulk:
    """Steers bulk operations on behalf of people and programs."""

    streams: Streams
    units: UnitOfWork
    ids: Ids

    def __call__(
        self,
        step: Step,
        key: UUID,
        instruction: Instruction,
        versions: Versions = None,
    ) -> Steered:
        """Return the operation after one step; `versions` were looked at.

        Raises:
            ForbiddenError: whoever asks may not.
            SelfApprovalError: whoever asked for it would approve of it.
            NotFoundError: none of theirs has that id.
            StateConflictError: its stage forbids it.
            VersionChangedError: it is at another version.
            DatabaseUnavailableError: nothing is known to be done.
        """
        asked = _Asked(step, Ref(StreamKind.BULK, key), versions, instruction.actor)
        return self._on_record(asked, instruction)

    def _on_record(self, asked: "_Asked", instruction: Instruction) -> Steered:
        try:
            return self._steered(asked, instruction)
        except (ApplicationError, DomainError) as error:
            key = as_given(str(asked.ref.id))
            refused = ActionRefused(
                action=f"{asked.step.verb}_bulk", target=key, code=error.code
            )
            head = self.streams.head(asked.ref)
            about = about_nothing(key, instruction)
            if head is not None and instruction.sees(head.tenant_id):
                about = About(head.tenant_id, head.correlation_id)
            Refusals(self.units, self.ids).record(refused, instruction, about)
            raise

    def _steered(self, asked: "_Asked", instruction: Instruction) -> Steered:
        instruction.require(asked.step.permission)
        ref = asked.ref
        for _ in range(_ROUNDS):
            head = self.streams.head(ref)
            if not isinstance(head, BulkHead) or not instruction.sees(head.tenant_id):
                raise NotFoundError(_WHAT, str(ref.id))
            job = bulk_of(head).job
            jobs = _Jobs(
                old=None if job is None else Ref(StreamKind.JOB, job),
                new=Ref(StreamKind.JOB, self.ids()),
            )
            group = Group(
                refs=(ref, *jobs.refs),
                decide=partial(_decided, asked, jobs),
                meta=instruction.meta(head.correlation_id),
                once=making(instruction.once, KIND, ref.id),
            )
            deed = Deed(
                action=asked.step.action,
                target_kind="bulk",
                target=str(ref.id),
                refs=(ref,),
            )
            try:
                result = commit_once(self.units, on_record(group, deed, self.ids()))
            except IllegalTransitionError as error:
                remedy = _remedy(asked.step.verb, error.stage)
                raise StateConflictError(
                    _WHAT, str(ref.id), error.stage, remedy
                ) from error
            if isinstance(result, Written):
                return self._told(ref, head, result)
            if result == _OTHER_VERSION:
                raise VersionChangedError(str(ref.id))
        raise StateConflictError(_WHAT, str(ref.id), "changing", "ask again")

    def _told(self, ref: Ref, head: BulkHead, written: Written) -> Steered:
        mine = next((each for each in written.changes if each.ref == ref), None)
        state = bulk_of(head)
        if mine is None:
            # It was so already, at a version that nobody has left since.
            return Steered(
                bulk_id=ref.id,
                version=state.version,
                state=state.stage,
                events=(),
                position=written.position,
            )
        return Steered(
            bulk_id=ref.id,
            version=mine.state.version,
            state=mine.state.stage if isinstance(mine.state, BulkOperation) else "",
            events=tuple(event.tag for event in mine.events),
            position=written.position,
        )


@dataclass(frozen=True, slots=True)
class _Asked:
    step: Step
    ref: Ref
    versions: Versions
    by: Actor


@dataclass(frozen=True, slots=True)
class _Jobs:
    old: Ref | None
    new: Ref

    @property
    def refs(self) -> tuple[Ref, ...]:
        return (self.new,) if self.old is None else (self.old, self.new)

    def next(self, locked: Locked) -> UUID:
        """Return the job that has not ended, else the new one."""
        head = None if self.old is None else locked.get(self.old)
        is_live = (
            head is not None
            and isinstance(head.state, Job)
            and head.state.stage in _LIVE
        )
        return self.old.id if is_live and self.old is not None else self.new.id


def _decided(
    asked: _Asked, jobs: _Jobs, locked: Locked, now: Instant
) -> tuple[Change, ...] | Refused:
    ref = asked.ref
    head = locked.get(ref)
    if not isinstance(head, BulkHead):
        return _GONE
    bulk = bulk_of(head)
    if jobs.old is not None and bulk.job != jobs.old.id:
        return _GONE  # it was resumed meanwhile: look again
    if not is_seen(asked.versions, bulk.version):
        return _OTHER_VERSION
    events = decide(bulk, asked.step.make(head, jobs.next(locked), asked.by))
    if not events:
        return ()
    change = changed(ref, head, events, fold(events, bulk))
    needs_job = any(
        isinstance(event, Started | Resumed) and event.job == jobs.new.id
        for event in events
    )
    if not needs_job:
        return (change,)
    job = births.enqueued(lambda: jobs.new.id, head.tenant_id, bulk_job(ref.id, now))
    return (change, job)


def _remedy(verb: str, stage: str) -> str:
    match verb, Stage(stage):
        case _, Stage.PREVIEWING:
            return "wait for its preview"
        case _, Stage.AWAITING_APPROVAL:
            return "somebody else has to approve of it first"
        case "start" | "pause", Stage.PAUSED:
            return "resume it"
        case "resume" | "pause", Stage.READY:
            return "start it"
        case "approve", Stage.READY | Stage.RUNNING | Stage.PAUSED:
            return "it needs no approval"
        case _:
            return "it is over; ask for a new one"
