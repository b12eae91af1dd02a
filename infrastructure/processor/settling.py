"""What settling one job means, as a group of the batch store.

The job's own event is decided under its lock by token and state; the changes that
the handler brought are checked by version; and the record that the job serves
follows the job in the same transaction (mechanisms 8, 25).
"""

import random
from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from application.births import after_delivery
from application.job_kinds import AnyKind
from application.records.following import (
    may_have_called,
    record_change,
    record_ref,
    standing,
)
from application.unit import Group, Head, Locked, Refused, changed
from domain.event import Actor, Causation, Instant, Meta
from domain.jobs.aggregate import Job, fold, holder
from domain.jobs.events import JobEvent
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
from domain.jobs.verdict import (
    Ending,
    Interrupted,
    LeaseLost,
    Moment,
    Unfit,
    settle,
)
from domain.stream import Change, Ref
from infrastructure.ids import new_id

_CONFLICT_WAIT_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Claimed:
    """The claim that is settled, from whatever source it is known."""

    ref: Ref
    token: int
    kind: AnyKind
    record: Ref | None
    correlation_id: str
    called_provider: bool = False
    """Whether this claim has asked a provider, as far as its own process knows."""


def record_of(
    kind: AnyKind, args: str | bytes, unique_key: str | None = None
) -> Ref | None:
    """Return the record that a job serves, by its arguments as JSON; never raises."""
    return record_ref(
        kind, lambda args_: msgspec.json.decode(args, type=args_), unique_key
    )


def settlement(
    claimed: Claimed,
    ending: Ending,
    actor: Actor,
    still: Callable[[Head, Instant], bool] = lambda _head, _now: True,
) -> Group:
    """Return the group that ends one claim; `still` is asked under the lock."""
    changes = changes_of(ending)
    refs = {claimed.ref, *(change.ref for change in changes)}
    if claimed.record is not None:
        refs.add(claimed.record)
    meta = Meta(
        actor=actor,
        correlation_id=claimed.correlation_id,
        causation=Causation(job=claimed.ref.id, token=claimed.token),
    )
    spin = random.uniform(-1.0, 1.0)  # noqa: S311 - turns the backoff's jitter
    decision = _Decision(claimed, ending, changes, spin, still)
    return Group(refs=tuple(refs), decide=decision, meta=meta)


def changes_of(ending: Ending) -> tuple[Change, ...]:
    """Return the changes of the handler's own streams that an ending brings."""
    match ending:
        case (
            Completed()
            | Retry()
            | Snooze()
            | Park()
            | Gated()
            | Fail()
            | Cancel()
            | Ambiguous()
        ):
            return ending.changes
        case Interrupted() | LeaseLost() | Unfit():
            return ()


@dataclass(frozen=True, slots=True)
class _Decision:
    claimed: Claimed
    ending: Ending
    changes: tuple[Change, ...]
    spin: float
    still: Callable[[Head, Instant], bool]

    def __call__(self, locked: Locked, now: Instant) -> tuple[Change, ...] | Refused:
        """Return what ends the claim, if it still holds the job."""
        head = locked.get(self.claimed.ref)
        if head is None or not isinstance(head.state, Job):
            return Refused("lease_lost")
        if not holder(head.state, self.claimed.token) or not self.still(head, now):
            return Refused("lease_lost")
        ending, changes = self._against(locked, now)
        if isinstance(ending, LeaseLost):
            ending = self._as_recorded(ending, self._record(locked, head))
        budget = self.claimed.kind.budget
        events = settle(head.state, ending, budget, Moment(now, self.spin))
        record = self._record(locked, head)
        return (
            *self._with_record(changes, record, events, now),
            changed(self.claimed.ref, head, events, fold(events, head.state)),
        )

    def _against(
        self, locked: Locked, now: Instant
    ) -> tuple[Ending, tuple[Change, ...]]:
        """Return the ending and its changes as of the locked heads.

        A lost race gives the job back; once a provider was asked, the attempt counts.
        """
        found = [standing(locked, change, now) for change in self.changes]
        changes = tuple(change for change in found if change is not None)
        if len(changes) == len(found):
            return self.ending, tuple(change for change in changes if change.events)
        if self.claimed.called_provider:
            return Retry(code="conflict", error="the streams had moved on"), ()
        return Interrupted(cause="conflict", wait_seconds=_CONFLICT_WAIT_SECONDS), ()

    def _record(self, locked: Locked, job: Head) -> Head | None:
        """Return the record that the job serves: one of its own tenant."""
        head = None if self.claimed.record is None else locked.get(self.claimed.record)
        return None if head is None or head.tenant_id != job.tenant_id else head

    def _as_recorded(self, lost: LeaseLost, record: Head | None) -> LeaseLost:
        """Count the attempt if its record says that the provider may have been asked.

        Under the record's lock: only the holder of the token starts attempts.
        """
        state = None if record is None else record.state
        began = None if state is None else may_have_called(state, self.claimed.token)
        if began is None:
            return lost
        return msgspec.structs.replace(lost, call_began=began)

    def _with_record(
        self,
        changes: tuple[Change, ...],
        head: Head | None,
        events: tuple[JobEvent, ...],
        now: Instant,
    ) -> tuple[Change, ...]:
        """Return the changes with what the job's record does after it.

        What follows from a delivery's end, or from its being owed anew, is born here,
        whoever has told it.
        """
        record = self.claimed.record
        if record is None or head is None:
            return changes
        told = next((change for change in changes if change.ref == record), None)
        others = (change for change in changes if change is not told)
        has_called = self.claimed.called_provider
        followed = record_change(record, head, events, told, has_called=has_called)
        born = (each for it in followed for each in after_delivery(new_id, it, now))
        return (*others, *followed, *born)
