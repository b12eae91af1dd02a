"""Transaction 1 of an attempt: may the panel be asked, and what goes on record first.

                      ┌─ not ours, ended, not due … ─► refused, nothing is written
 locked heads ─► decide ─ a later one carries it ────► cancelled: covered_by
                      ├─ the panel's gate is closed ─► refused: the job is parked
                      └─ otherwise ──────────────────► attempt_started

The list of operations is read before anything is locked.  That is safe because
no other handler of this entitlement can run meanwhile (its serial key is ours for
as long as our token holds, and the token is checked here under the job's lock),
because an operation born meanwhile has moved the entitlement's desired version,
which is compared under the entitlement's lock, and because the covering
operation is locked too and looked at again.  The gate is read before that as well:
what begins in the very moment of closing has begun before, and finishes.
"""

from dataclasses import dataclass

import msgspec

from application.fulfillment.changes import operation_change, order_delivered
from application.fulfillment.covering import covers
from application.fulfillment.desired import INVALID, unusable
from application.fulfillment.pushed import Pushed, pushed_by
from application.policies import key_of
from application.unit import Locked, Refused, Written
from domain.entitlement.state import Entitlement
from domain.event import Instant
from domain.fulfillment.aggregate import FulfillmentOperation, Stage
from domain.fulfillment.commands import (
    Cover,
    FulfillmentCommand,
    Interrupt,
    StartAttempt,
)
from domain.jobs.aggregate import Job, holder
from domain.stream import Change, Ref

LEASE_LOST = Refused("lease_lost")
CANCEL_REQUESTED = Refused("cancel_requested")
MISSING = Refused("operation_missing")
STRANGER = Refused("not_its_job")
"""The job is not the one that was born with the operation; anybody may enqueue."""
ENDED = Refused("ended")
NOT_DUE = Refused("not_due")
NOT_COVERING = Refused("not_covering")
"""The proposed covering operation does not cover (any more); propose another."""
OUTDATED = Refused("outdated")
"""An operation was born after the list was read; read it again."""

GATED = Refused("gated")
"""The panel's gate is closed; the attempt does not begin."""

_ENDED = frozenset({Stage.SUCCEEDED, Stage.CANCELLED, Stage.FAILED})


class Started(Change, frozen=True, kw_only=True):
    """The operation's change by which an attempt starts, and what it is to push."""

    pushed: Pushed


@dataclass(frozen=True, slots=True)
class Begun:
    """An attempt that is on record, so the panel may be asked."""

    tenant_id: str
    operation: FulfillmentOperation
    pushed: Pushed


@dataclass(frozen=True, slots=True)
class Begin:
    """Decides about one attempt once the heads are locked; pure."""

    operation: Ref
    entitlement: Ref
    order: Ref | None
    job: Ref
    token: int
    newest_version: int
    """The highest desired version in the list of operations that was read."""
    covering: Ref | None
    """A later operation that probably carries this one's desired state."""
    calls: tuple[str, ...]
    completion: Ref
    """The job that looks whether the order is over, should it be born."""
    is_gated: bool = False
    """Whether the panel's gate was closed just before."""

    @property
    def refs(self) -> tuple[Ref, ...]:
        """The heads that this decision looks at or changes."""
        refs = [self.entitlement, self.operation, self.job]
        if self.covering is not None:
            refs.append(self.covering)
            # Fulfilled in this very group when the covering one has succeeded.
            refs.extend(() if self.order is None else (self.order, self.completion))
        return tuple(refs)

    def __call__(self, locked: Locked, now: Instant) -> tuple[Change, ...] | Refused:
        """Return the attempt's start or the operation's end, or why neither."""
        job = _state(locked, self.job, Job)
        if job is None or not holder(job, self.token):
            return LEASE_LOST
        if job.cancel_requested:
            return CANCEL_REQUESTED
        operation = _state(locked, self.operation, FulfillmentOperation)
        entitlement = _state(locked, self.entitlement, Entitlement)
        if operation is None or entitlement is None:
            return MISSING
        if operation.stage in _ENDED:
            return ENDED
        if not self._is_its_job(locked, job):
            return STRANGER
        if operation.effective_at is None or operation.effective_at > now:
            return NOT_DUE
        if entitlement.desired_version > self.newest_version:
            return OUTDATED
        if self.covering is not None:
            return self._cover(locked, operation, self.covering, now)
        pushed = pushed_by(entitlement, operation, now)
        code = INVALID if pushed is None else unusable(operation, pushed.desired)
        if pushed is None or code is not None:
            return Refused(code or INVALID)
        if self.is_gated:
            return GATED
        started = self._changed(locked, operation, StartAttempt(self.calls))
        return (Started(**msgspec.structs.asdict(started), pushed=pushed),)

    def _is_its_job(self, locked: Locked, job: Job) -> bool:
        is_at_home = locked[self.job].tenant_id == locked[self.operation].tenant_id
        return is_at_home and job.unique_key == key_of(self.operation.id)

    def _cover(
        self, locked: Locked, operation: FulfillmentOperation, by: Ref, now: Instant
    ) -> tuple[Change, ...] | Refused:
        later = _state(locked, by, FulfillmentOperation)
        if later is None or not covers(later, operation, now):
            return NOT_COVERING
        covered = self._changed(locked, operation, Cover(covered_by=by.id))
        order = None if self.order is None else locked.get(self.order)
        if self.order is None or order is None or later.stage is not Stage.SUCCEEDED:
            # The covering operation fulfils the order when it succeeds.
            return (covered,)
        delivered = order_delivered(
            self.order, order, by.id, lambda: self.completion.id, lambda: now
        )
        return (covered,) if delivered is None else (covered, delivered)

    def _changed(
        self,
        locked: Locked,
        operation: FulfillmentOperation,
        command: FulfillmentCommand,
    ) -> Change:
        head = locked[self.operation]
        if operation.stage is not Stage.RUNNING:
            return operation_change(self.operation, head, operation, command)
        # Whoever lost the claim before us ended its attempt on record; should one
        # have been left open all the same, it ends here, since we hold the job.
        interrupt = Interrupt("lease_lost")
        return operation_change(self.operation, head, operation, interrupt, command)


def _state[S](locked: Locked, ref: Ref, kind: type[S]) -> S | None:
    head = locked.get(ref)
    return head.state if head is not None and isinstance(head.state, kind) else None


def begun_by(written: Written, operation: Ref) -> Begun | None:
    """Return the attempt that was started, or None when the operation was covered."""
    for change in written.changes:
        state = change.state
        if (
            isinstance(change, Started)
            and change.ref == operation
            and isinstance(state, FulfillmentOperation)
        ):
            return Begun(change.tenant_id, state, change.pushed)
    return None
