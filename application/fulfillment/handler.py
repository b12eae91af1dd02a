"""Carry one operation to the panel: record the attempt, ask, return what follows.

transaction 1          no transaction           the settler's transaction
Begin ───────────────► panel.carry_out ───────► operation, entitlement, orders, job
  └ covered, not due, gate    └ refused, no answer … ─► the job, and by
                                                        `record.follow` the operation
A reconciliation looks before that, and commits in what the panel differs before it is
repaired (`application.fulfillment.detection`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, assert_never
from uuid import UUID

import msgspec

from application.context import Context
from application.fulfillment import begin as refusals
from application.fulfillment.begin import Begin, Begun, begun_by
from application.fulfillment.confirm import confirmed
from application.fulfillment.covering import candidates
from application.fulfillment.detection import Detection
from application.fulfillment.subject import Subject, read_subject
from application.ports import (
    Confirmed,
    Halted,
    Misconfigured,
    Missing,
    OperationRow,
    Panel,
    PanelAnswer,
    Rejected,
    Shown,
    Streams,
    Unavailable,
    Unconfirmed,
    Unknown,
)
from application.unit import (
    Decide,
    Group,
    Ids,
    Refused,
    Result,
    UnitOfWork,
    Unstorable,
    Written,
)
from domain.entitlement.state import Sight
from domain.event import Actor, Causation, Meta
from domain.fulfillment.operations import RECONCILE
from domain.jobs.outcome import (
    Cancel,
    Completed,
    Fail,
    Gated,
    Outcome,
    Park,
    Retry,
    Snooze,
)
from domain.maintenance.gates import PANEL
from domain.stream import Ref, StreamKind

ROUNDS: Final = 3
"""How often the operations are read anew when others are born meanwhile."""

INTERRUPTED: Final = "interrupted"


class FulfillmentArgs(msgspec.Struct, frozen=True):
    """What a job of kind `fulfillment` is about."""

    operation_id: UUID


@dataclass(frozen=True, slots=True)
class FulfillOperation:
    """Handles jobs of kind `fulfillment`."""

    streams: Streams
    units: UnitOfWork
    ids: Ids
    panel: Panel
    actor: Actor
    """The worker, as the log names it."""

    def __call__(self, args: FulfillmentArgs, ctx: Context) -> Outcome:
        """Return what became of the operation after at most one round of calls."""
        subject = read_subject(
            self.streams, Ref(StreamKind.OPERATION, args.operation_id)
        )
        if subject is None:
            return Cancel(code=refusals.MISSING.code)
        if ctx.seconds_left <= 0:
            return _given_back(subject, INTERRUPTED)
        closed = self.streams.closed_gate(PANEL)
        result = self._begin(subject, ctx, is_gated=closed is not None)
        if closed is not None and result == refusals.GATED:
            return Gated(gate=PANEL, cause=closed)
        if isinstance(result, Refused | Unstorable):
            return _not_begun(subject, result)
        begun = begun_by(result, subject.ref)
        if begun is None:
            return Completed(result={"ended": "covered"})
        answer = self._ask(subject, begun, ctx)
        if isinstance(answer, Refused | Unstorable):
            return _not_begun(subject, answer)
        if not isinstance(answer, Confirmed):
            return _not_confirmed(subject, answer)
        observed = answer.observed
        sight = Sight(observed, answer.squad_ids)
        return Completed(
            result={"panel_user_id": observed.panel_user_id, "status": observed.status},
            changes=confirmed(self.streams, self.ids, subject, begun, sight),
        )

    def _ask(
        self, subject: Subject, begun: Begun, ctx: Context
    ) -> PanelAnswer | Refused | Unstorable:
        """Return what the panel said to the operation, or why it was not asked."""
        access = subject.access(begun.pushed)
        request_id = f"{subject.ref.id}.{begun.operation.attempts}"
        requests = 0
        if begun.operation.operation == RECONCILE:
            seen = self.panel.read(access, request_id, ctx)
            if not isinstance(seen, Shown | Missing):
                return seen
            requests = seen.requests
            recorded = self._detected(subject, begun, seen, ctx)
            if recorded is not None:
                return recorded
        return self.panel.carry_out(
            begun.operation.operation,
            access,
            request_id,
            ctx,
            requests_before=requests,
        )

    def _detected(
        self, subject: Subject, begun: Begun, seen: Shown | Missing, ctx: Context
    ) -> Refused | Unstorable | None:
        """Commit in what the panel differs; return why that was refused, if it was."""
        sight = seen.sight if isinstance(seen, Shown) else None
        drifts = begun.pushed.differences(sight)
        if not drifts:
            return None
        detect = Detection(
            entitlement=subject.entitlement_ref,
            job=Ref(StreamKind.JOB, ctx.job_id),
            token=ctx.token,
            drifts=drifts,
        )
        result = self._commit(detect.refs, detect, ctx)
        return None if isinstance(result, Written) else result

    def _commit(self, refs: tuple[Ref, ...], decide: Decide, ctx: Context) -> Result:
        meta = Meta(
            actor=self.actor,
            correlation_id=ctx.correlation_id,
            causation=Causation(job=ctx.job_id, token=ctx.token),
        )
        (result,) = self.units.commit([Group(refs=refs, decide=decide, meta=meta)])
        return result

    def _begin(self, subject: Subject, ctx: Context, *, is_gated: bool) -> Result:
        """Return how transaction 1 ended, with the best operation that covers."""
        result: Result = refusals.OUTDATED
        for _ in range(ROUNDS):
            others = self.streams.operations_of(subject.entitlement_ref.id)
            for later in (*candidates(subject.operation, others), None):
                begin = self._beginning(subject, others, later, ctx, is_gated=is_gated)
                result = self._commit(begin.refs, begin, ctx)
                if result != refusals.NOT_COVERING:
                    break
            if result != refusals.OUTDATED:
                break
        return result

    def _beginning(
        self,
        subject: Subject,
        others: Sequence[OperationRow],
        later: OperationRow | None,
        ctx: Context,
        *,
        is_gated: bool,
    ) -> Begin:
        return Begin(
            operation=subject.ref,
            entitlement=subject.entitlement_ref,
            order=subject.order,
            job=Ref(StreamKind.JOB, ctx.job_id),
            token=ctx.token,
            newest_version=max((row.desired_version for row in others), default=0),
            covering=None if later is None else later.ref,
            calls=subject.calls(),
            completion=Ref(StreamKind.JOB, self.ids()),
            is_gated=is_gated,
        )


def _given_back(subject: Subject, cause: str) -> Snooze:
    # A due instant that has passed means "now": the verdict never goes back in time.
    return Snooze(until=subject.due_at, cause=cause)


def _not_begun(subject: Subject, result: Refused | Unstorable) -> Outcome:
    if isinstance(result, Unstorable):
        return Fail(code="unstorable_result", error=result.error)
    match result:
        case refusals.ENDED:
            return Completed(result={"ended": "already"})
        case refusals.CANCEL_REQUESTED:
            return Cancel(code="operator")
        case refusals.MISSING:
            return Cancel(code=result.code)
        case refusals.LEASE_LOST | refusals.NOT_DUE | refusals.OUTDATED:
            # After a lost lease the settler refuses this as well, by the token.
            return _given_back(subject, result.code)
        case _:
            return Fail(code=result.code)


def _not_confirmed(subject: Subject, answer: Unconfirmed) -> Outcome:
    match answer:
        case Rejected():
            return Fail(code=answer.code, error=answer.detail)
        case Unavailable() | Unknown():
            return Retry(
                code=answer.code,
                error=answer.detail,
                not_before_seconds=answer.retry_after_seconds,
            )
        case Misconfigured():
            return Park(cause=answer.cause, error=answer.detail)
        case Halted() if answer.requests == 0:
            return _given_back(subject, INTERRUPTED)
        case Halted():
            # The panel was asked, so the attempt counts (I3).
            return Retry(code=INTERRUPTED, error=answer.detail)
        case _:
            assert_never(answer)
