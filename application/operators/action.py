"""One action of an operator on a target, carried out or refused, and on record."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, NamedTuple
from uuid import UUID

import msgspec

from application import births
from application.errors import (
    ApplicationError,
    StateConflictError,
    TwinError,
    VersionChangedError,
)
from application.once.commit import commit_once, making
from application.operators.instruction import Instruction, as_given
from application.operators.refusals import (
    About,
    JobMutationRejectedError,
    Refusals,
    about_nothing,
)
from application.operators.room import NO_ROOM, no_room
from application.operators.taken import Deed, on_record
from application.operators.target import Target, Targets, unknown
from application.unit import (
    Group,
    Locked,
    Refused,
    UnitOfWork,
    Versions,
    Written,
    is_seen,
)
from domain.access.permissions import Permission
from domain.event import Instant
from domain.jobs.aggregate import Stage
from domain.members import is_object
from domain.operators.events import ActionRefused, ActionTaken
from domain.stream import Change, Ref, StreamKind

GONE: Final = Refused("gone")
"""The job moved between its tables after it was found; find it again."""

CONFLICT: Final = Refused("conflict")
"""A unique key is taken."""

STALE: Final = Refused("stale")
"""It is not at the version that was looked at."""
_ROUNDS: Final = 3
_JOB: Final = "job"
_CHANGING: Final = "changing"

type Decide = Callable[[Target, Locked, Instant], tuple[Change, ...] | Refused]
"""What the action changes of a locked target.

A refusal's code is the kind of the stream and its stage: `job_running`.
"""


class Done(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What an action has changed."""

    job_id: UUID | None
    operation_id: UUID | None
    delivery_id: UUID | None = None
    events: tuple[str, ...]
    """Tags of the events that it wrote; none: it was so already."""
    position: int
    """A reader at this position of the log sees them, or that it was so already."""
    is_asked: bool = False
    """Whether a running job has only been asked, and its worker has the word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """A verb with its rule; the same for every route that leads to it."""

    verb: str
    names: Mapping[StreamKind, str]
    """What the audit calls it, by the kind of the record that the job serves; under
    that of jobs, without one, or with one of another kind."""
    decide: Decide
    permission: Permission
    """What whoever asks for it must be allowed."""
    needs_room: bool = False
    """Whether it brings a job to life that waits for no money: see `Group`."""
    remedy: Callable[[str, str], str]
    """What can be done instead, from the kind of the stream and its stage."""
    targets: Targets
    units: UnitOfWork
    refusals: Refusals

    def __call__(
        self, key: str, instruction: Instruction, versions: Versions = None
    ) -> Done:
        """Return what was done to the job, operation or delivery that has the id `key`.

        `versions` are those that were looked at.

        Raises:
            ForbiddenError: whoever asks may not.
            NotFoundError: nothing of theirs has that id.
            VersionChangedError: it is at another version.
            StateConflictError: its stage forbids it.
            TwinError: a live job has the same unique key.
            QuotaExceededError: it needs room, and as much is pending as may be.
            DatabaseUnavailableError: nothing is known to be done.
        """
        try:
            return self._done(key, instruction, versions)
        except ApplicationError as error:
            self.refusals.record(
                ActionRefused(action=self.verb, target=as_given(key), code=error.code),
                instruction,
                self._about(key, instruction),
            )
            raise

    def _done(self, key: str, instruction: Instruction, versions: Versions) -> Done:
        instruction.require(self.permission)
        for _ in range(_ROUNDS):
            target = self.targets.find(key, instruction.tenant_id)
            if not instruction.sees(target.tenant_id):
                raise unknown(key)
            is_goods = _id_of(target, StreamKind.DELIVERY) is not None
            born = (Ref(StreamKind.JOB, self.refusals.ids()),) if is_goods else ()
            kept_as = _named(target, key).kind.name.lower()
            seen = _Seen(_named(target, key), versions)
            decide = partial(_as_seen, self.decide, seen)
            group = Group(
                refs=(*target.refs, *born),
                decide=partial(_with_births, decide, target, born),
                meta=instruction.meta(target.correlation_id),
                needs_room=self.needs_room,
                once=making(instruction.once, kept_as, key),
            )
            kept = on_record(group, self._deed(target), self.refusals.ids())
            result = commit_once(self.units, kept)
            if isinstance(result, Written):
                return self._told(target, result)
            if result == CONFLICT:
                self._refuse_twin(target)
            elif result == STALE:
                raise VersionChangedError(key)
            elif isinstance(result, Refused) and result in NO_ROOM:
                raise no_room(result, target.tenant_id)
            elif isinstance(result, Refused) and result != GONE:
                raise self._conflict(target, str(UUID(key)), result)
        raise StateConflictError(_JOB, key, _CHANGING, self.remedy(_JOB, _CHANGING))

    def _deed(self, target: Target) -> Deed:
        """Return what is on record: of the record, or of the job that serves none."""
        refs = tuple(ref for ref in (target.record, target.job) if ref is not None)
        kind = refs[0].kind
        return Deed(
            action=self.names.get(kind, self.names[StreamKind.JOB]),
            target_kind=kind.name.lower(),
            target=str(refs[0].id),
            refs=refs,
        )

    def _refuse_twin(self, target: Target) -> None:
        """Name the live job that has the key; none any more: it is tried again."""
        if target.unique_key is None or target.job is None:
            return
        twin = self.targets.streams.live_job_with_key(
            target.tenant_id, target.unique_key
        )
        if twin is not None and twin != target.job:
            raise TwinError(str(target.job.id), str(twin.id))

    def _conflict(
        self, target: Target, key: str, refused: Refused
    ) -> StateConflictError:
        what, _, stage = refused.code.partition("_")
        ref = target.job if what == _JOB else target.record
        named = "" if ref is None else str(ref.id)
        # Whoever names the record is told of the record's conflict.
        is_rejected = what == _JOB and target.job is not None and key == named
        kind = JobMutationRejectedError if is_rejected else StateConflictError
        return kind(what, named, stage, self.remedy(what, stage))

    def _told(self, target: Target, written: Written) -> Done:
        return Done(
            job_id=None if target.job is None else target.job.id,
            operation_id=_id_of(target, StreamKind.OPERATION),
            delivery_id=_id_of(target, StreamKind.DELIVERY),
            events=tuple(
                event.tag
                for change in sorted(written.changes, key=_jobs_first)
                if change.ref in target.refs or change.ref.kind is StreamKind.REMARK
                for event in change.events
                if not isinstance(event, ActionTaken)
            ),
            is_asked=asks_to_end(written.changes),
            position=written.position,
        )

    def _about(self, key: str, instruction: Instruction) -> About:
        last = self.targets.last_event(key)
        if last is None or not instruction.sees(last.tenant_id):
            return about_nothing(key, instruction)
        return About(last.tenant_id, last.correlation_id)


def _named(target: Target, key: str) -> Ref:
    """Return the one of the two that the person has named."""
    refs = [ref for ref in (target.record, target.job) if ref is not None]
    return next((ref for ref in refs if ref.id == UUID(key)), refs[0])


def asks_to_end(changes: Sequence[Change]) -> bool:
    """Whether a running job has only been asked to end, now or before."""
    records = (event for each in changes for event in each.events)
    figures = (it.after.get("job") for it in records if isinstance(it, ActionTaken))
    return any(
        is_object(it) and it["state"] == Stage.RUNNING and bool(it["cancel_requested"])
        for it in figures
    )


class _Seen(NamedTuple):
    """What the person has named, and the versions that they looked at."""

    ref: Ref
    versions: Versions


def _as_seen(
    decide: Decide, seen: _Seen, target: Target, locked: Locked, now: Instant
) -> tuple[Change, ...] | Refused:
    """Return what the action changes of what is still as the person saw it."""
    head = locked.get(seen.ref)
    if head is not None and not is_seen(seen.versions, head.state.version):
        return STALE
    return decide(target, locked, now)


def _with_births(
    decide: Decide,
    target: Target,
    born: tuple[Ref, ...],
    locked: Locked,
    now: Instant,
) -> tuple[Change, ...] | Refused:
    """Return what the action changes, and the job that follows from a last change."""
    changes = decide(target, locked, now)
    if isinstance(changes, Refused):
        return changes
    ids = iter(ref.id for ref in born)
    following = (
        births.after_delivery(lambda: next(ids), change, now) for change in changes
    )
    return (*changes, *(job for jobs in following for job in jobs))


def _id_of(target: Target, kind: StreamKind) -> UUID | None:
    record = target.record
    return None if record is None or record.kind is not kind else record.id


def _jobs_first(change: Change) -> bool:
    return change.ref.kind is not StreamKind.JOB
