"""What an operator's id means: a job, and the record that the job serves.

Both ids lead to the same pair, so retrying a job retries its record, and the other
way round: one use case, two routes (mechanisms 25).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Protocol
from uuid import UUID

import msgspec

from application.errors import NotFoundError, StateConflictError
from application.job_kinds import Kinds
from application.ports import Streams
from application.records.following import record_ref
from application.unit import Head
from domain.event import JsonObject
from domain.fulfillment.aggregate import FulfillmentOperation
from domain.fulfillment.operations import CREATE
from domain.jobs.aggregate import Job
from domain.jobs.events import Succeeded
from domain.stream import Ref, StreamKind

_LOOKS: Final = 3
"""A job that moves between its tables while one looks is found at the next look."""

_JOB: Final = "job"

_RECORDS: Final = (StreamKind.OPERATION, StreamKind.DELIVERY)
"""What a job may serve."""

FINAL: Final = "what succeeded is final"


class LastEvent(msgspec.Struct, frozen=True, kw_only=True):
    """The end of one stream."""

    tag: str
    tenant_id: str
    correlation_id: str


class History(Protocol):
    """Looks at the ends of streams, where there is no head any more."""

    def last_event(self, stream_id: UUID) -> LastEvent | None:
        """Return the last event of a stream, or None when there is no such stream."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One job and its record; at least one of them."""

    job: Ref | None
    record: Ref | None
    tenant_id: str
    correlation_id: str
    unique_key: str | None = None
    carried: tuple[Ref, ...] = ()
    """Operations that the record carries, or might by the time it is locked, and the
    orders that wait for them."""

    @property
    def refs(self) -> tuple[Ref, ...]:
        """The heads to lock."""
        own = tuple(ref for ref in (self.record, self.job) if ref is not None)
        return (*own, *self.carried)


@dataclass(frozen=True, slots=True)
class Targets:
    """Finds the targets of operators' ids."""

    streams: Streams
    history: History
    kinds: Kinds

    def find(self, key: str, tenant_id: str | None = None) -> Target:
        """Return what the id of a job or of its record stands for.

        Raises:
            NotFoundError: nothing of that kind has the id, or it was another tenant's.
            StateConflictError: it was a job that has succeeded.
        """
        id_ = _as_id(key)
        if id_ is None:
            raise unknown(key)
        for _ in range(_LOOKS):
            found = self._job(id_) or self._served(id_)
            if found is not None:
                return found
            last = self.history.last_event(id_)
            if last is None or not last.tag.startswith("job."):
                raise unknown(key)
            if tenant_id not in {None, last.tenant_id}:
                raise unknown(key)
            if last.tag == Succeeded.tag:
                break
        raise StateConflictError(_JOB, key, Succeeded.tag.removeprefix("job."), FINAL)

    def last_event(self, key: str) -> LastEvent | None:
        """Return the end of the stream that `key` names, if it names one."""
        id_ = _as_id(key)
        return None if id_ is None else self.history.last_event(id_)

    def _job(self, id_: UUID) -> Target | None:
        ref = Ref(StreamKind.JOB, id_)
        head = self.streams.head(ref)
        if head is None or not isinstance(head.state, Job):
            return None
        args = self.streams.job_args(id_)
        record = None if args is None else self._record(head, head.state, args)
        key = head.state.unique_key
        return self._target(head, job=ref, record=record, key=key)

    def _record(self, head: Head, job: Job, args: JsonObject) -> Ref | None:
        """Return the record of the job's own tenant that it serves, by its key.

        A job without the key of its kind's entry serves none, whatever it is about;
        one that is dead because its arguments cannot be read still has its key.
        """
        entry = self.kinds.get(job.kind)
        if entry is None:
            return None
        record = record_ref(
            entry, lambda type_: msgspec.convert(args, type_), job.unique_key
        )
        served = None if record is None else self.streams.head(record)
        return record if served and served.tenant_id == head.tenant_id else None

    def _served(self, id_: UUID) -> Target | None:
        """Return what the id of a record stands for, with the job that serves it."""
        for kind in _RECORDS:
            record = Ref(kind, id_)
            head = self.streams.head(record)
            if head is not None:
                job, key = self._job_of(record, head)
                return self._target(head, job=job, record=record, key=key)
        return None

    def _job_of(self, record: Ref, head: Head) -> tuple[Ref | None, str | None]:
        """Return the job that serves a record, unfinished or else dead, and its key."""
        keys = [
            f"{entry.name}:{record.id}"
            for entry in self.kinds.values()
            if entry.record is not None and entry.record_kind is record.kind
        ]
        for find in (self.streams.live_job_with_key, self.streams.dead_job_with_key):
            for key in keys:
                job = find(head.tenant_id, key)
                if job is not None:
                    return job, key
        return None, None

    def _target(
        self, head: Head, *, job: Ref | None, record: Ref | None, key: str | None
    ) -> Target:
        return Target(
            job=job,
            record=record,
            tenant_id=head.tenant_id,
            correlation_id=head.correlation_id,
            unique_key=key,
            carried=() if record is None else tuple(self._carried(record)),
        )

    def _carried(self, record: Ref) -> Iterator[Ref]:
        """Yield what a `create` carries or may yet: what is older and not delivered.

        Nothing older is born afterwards, so under their locks this is all there is.
        """
        head = self.streams.head(record)
        state = None if head is None else head.state
        if not isinstance(state, FulfillmentOperation) or state.operation != CREATE:
            return
        entitlement = state.entitlement
        rows = () if entitlement is None else self.streams.operations_of(entitlement)
        for row in rows:
            is_older = row.desired_version < state.desired_version
            if is_older and row.order is not None and not row.order_fulfilled:
                yield row.ref
                yield Ref(StreamKind.ORDER, row.order)


def _as_id(key: str) -> UUID | None:
    try:
        return UUID(key)
    except ValueError:
        return None


def unknown(key: str) -> NotFoundError:
    """Return that nothing of theirs has that id."""
    return NotFoundError("job, operation or delivery", key)
