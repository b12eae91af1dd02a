"""One slice of the work on a bulk operation: one claim of its job, for some seconds."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Final

from application.bulk.port import LEASE_LOST, Chooser, Claim, Items, ItemStoppedError
from application.bulk.progress import BulkHead
from application.bulk.verbs import Verb, Verbs
from application.context import Context
from application.operators.instruction import Instruction
from application.ports import Streams
from application.unit import (
    Group,
    Locked,
    Refused,
    UnitOfWork,
    Unstorable,
    changed,
    guard,
)
from domain.access.roles import Role
from domain.bulk.aggregate import BulkOperation, decide, fold
from domain.bulk.commands import BulkCommand
from domain.event import Actor, Causation, Instant, Meta
from domain.jobs.aggregate import Job, holder
from domain.jobs.outcome import Completed, Snooze
from domain.stream import Change

SLICE_SECONDS: Final = 10.0
"""After so long the job is given back, so that a worker that stops need not wait."""

LEAST_SECONDS: Final = 15.0
"""With less of the lease or deadline left, nothing further is begun."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkParts:
    """What the work needs."""

    streams: Streams
    units: UnitOfWork
    items: Items
    chooser: Chooser
    verbs: Verbs
    actor: Actor
    """The worker, as the log names it."""
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """What one claim does, as far as it gets."""

    parts: BulkParts
    ctx: Context
    claim: Claim
    verb: Verb
    head: BulkHead
    ends_at: float
    """By the clock of the process."""

    @property
    def bulk(self) -> BulkOperation:
        """The operation as it was read."""
        return bulk_of(self.head)

    @property
    def is_over(self) -> bool:
        """Whether nothing further may be begun in this claim."""
        is_late = self.parts.clock() >= self.ends_at
        is_short = self.ctx.seconds_left < LEAST_SECONDS
        return is_late or is_short or self.ctx.cancel_requested

    def instruction(self, n: int) -> Instruction:
        """Return who asks for item `n`: whoever asked for all of them, and why."""
        bulk = self.bulk
        return Instruction(
            actor=bulk.requested_by or self.parts.actor,
            reason=bulk.reason,
            role=None if bulk.role is None else Role(bulk.role),
            tenant_id=self.head.tenant_id,
            permissions=frozenset({self.verb.permission}),
            request_id=f"bulk:{self.claim.bulk.id}:{n}",
        )

    def again(self, cause: str, seconds: float = 0.0) -> Snooze:
        """Return that the job goes on in another claim."""
        until = self.parts.streams.clock() + timedelta(seconds=seconds)
        return Snooze(until=until, cause=cause)

    def nothing_to_do(self) -> Completed:
        """Return that the job ends, as long as the operation stays as it was read.

        Whoever resumes it meanwhile relies on this very job: then it goes on.
        """
        bulk = self.bulk
        held = guard(self.claim.bulk, self.head.tenant_id, bulk.version)
        return Completed(result={"ended": bulk.stage.value}, changes=(held,))

    def tell(self, make: Callable[[BulkHead], BulkCommand]) -> BulkOperation:
        """Return the operation after a command, committed under the claim.

        Raises:
            ItemStoppedError: the claim is lost.
            IllegalTransitionError: it is at another stage by now.
        """
        meta = Meta(
            actor=self.parts.actor,
            correlation_id=self.head.correlation_id,
            causation=Causation(job=self.claim.job.id, token=self.claim.token),
        )
        group = Group(
            refs=(self.claim.bulk, self.claim.job),
            decide=partial(_told, self.claim, make),
            meta=meta,
        )
        (result,) = self.parts.units.commit([group])
        if isinstance(result, Refused):
            raise ItemStoppedError(result)
        if isinstance(result, Unstorable) or not result.changes:
            return self.bulk
        state = result.changes[0].state
        return state if isinstance(state, BulkOperation) else self.bulk


def _told(
    claim: Claim, make: Callable[[BulkHead], BulkCommand], locked: Locked, _now: Instant
) -> tuple[Change, ...] | Refused:
    if not holds(claim, locked):
        return LEASE_LOST
    head = locked.get(claim.bulk)
    if not isinstance(head, BulkHead):
        return LEASE_LOST
    bulk = bulk_of(head)
    events = decide(bulk, make(head))
    return (changed(claim.bulk, head, events, fold(events, bulk)),) if events else ()


def holds(claim: Claim, locked: Locked) -> bool:
    """Whether the claim's job is still its own."""
    job = locked.get(claim.job)
    return (
        job is not None
        and isinstance(job.state, Job)
        and holder(job.state, claim.token)
    )


def bulk_of(head: BulkHead) -> BulkOperation:
    """Return the state in the head of a bulk operation."""
    if not isinstance(head.state, BulkOperation):
        msg = "a bulk operation has the head of something else"
        raise TypeError(msg)
    return head.state
