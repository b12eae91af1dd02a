"""Retry what is dead: the job and the record that it serves, in one transaction.

 discarded job    its record failed or there is none    ► waiting, budget reset
 cancelled job    no record                             ► waiting, budget reset
 waiting job      later, or after a failure             ► due now, budget reset
 waiting job      due now, nothing spent                ► refused: of two the second
 a job whose handler runs on past the end of its run    ► refused: never two at once
 anything else                                          ► refused

The record that succeeded or was cancelled is final; so is a job that succeeded: it
is in neither table, so no statement can bring it back (I6).
"""

from typing import Final

from application.operators.action import GONE, Action
from application.operators.changes import commanded, state_of, told
from application.operators.refusals import Refusals
from application.operators.target import FINAL, Target, Targets
from application.unit import Ids, Locked, Refused, UnitOfWork
from domain.access.permissions import Permission
from domain.event import Instant
from domain.fulfillment.aggregate import FulfillmentOperation
from domain.fulfillment.aggregate import Stage as OperationStage
from domain.goods.state import FINAL as FINAL_STAGES
from domain.goods.state import GoodsDelivery
from domain.goods.state import Stage as DeliveryStage
from domain.jobs.aggregate import Job, RetryDead, Stage
from domain.jobs.moving import HELD, Hasten, move
from domain.operators.actions import DELIVERY_RETRIED, FULFILLMENT_RETRIED, JOB_RETRIED
from domain.stream import Change, StreamKind

_DEAD = frozenset({Stage.DISCARDED, Stage.CANCELLED})
_FINAL = frozenset({OperationStage.SUCCEEDED, OperationStage.CANCELLED})
_DECIDED = frozenset({*FINAL_STAGES, DeliveryStage.NEEDS_REVIEW})
"""Stages of a delivery that no retry leaves: final, or a person's to decide."""

_NAMES: Final = {
    StreamKind.OPERATION: FULFILLMENT_RETRIED,
    StreamKind.DELIVERY: DELIVERY_RETRIED,
    StreamKind.JOB: JOB_RETRIED,
}


def retry_job(targets: Targets, units: UnitOfWork, ids: Ids) -> Action:
    """Return the action that revives a dead job with its record."""
    return Action(
        verb="retry",
        names=_NAMES,
        decide=_decide,
        permission=Permission.JOBS_WRITE,
        needs_room=True,
        remedy=_remedy,
        targets=targets,
        units=units,
        refusals=Refusals(units, ids),
    )


def _decide(
    target: Target, locked: Locked, now: Instant
) -> tuple[Change, ...] | Refused:
    operation = state_of(locked, target.record, FulfillmentOperation)
    if operation is not None and operation.stage in _FINAL:
        return Refused(f"operation_{operation.stage}")
    delivery = state_of(locked, target.record, GoodsDelivery)
    if delivery is not None and delivery.stage in _DECIDED:
        return Refused(f"delivery_{delivery.stage}")
    if target.job is None:
        # Its job is found by its key, so an unfinished or failed record has one.
        if delivery is not None:
            return Refused(f"delivery_{delivery.stage}")
        return Refused(f"operation_{operation.stage}" if operation else GONE.code)
    job = state_of(locked, target.job, Job)
    if job is None:
        return GONE
    if job.stage is Stage.WAITING and delivery is None:
        if job.gate is not None:
            return Refused(f"job_{HELD}")
        hasten = Hasten(now=now)
        moved = told(locked, target.job, target.record, lambda it: move(it, hasten))
        # Nothing to do is somebody else's retry: he is told so (mechanisms 19).
        return moved or Refused(f"job_{job.stage}")
    if job.stage not in _DEAD:
        return Refused(f"job_{job.stage}")
    return commanded(locked, target.job, target.record, RetryDead(run_at=now))


def _remedy(what: str, stage: str) -> str:
    match stage:
        case _ if stage == HELD:
            return (
                "it goes on when its gate opens; `counterfoil why` says what closes it"
            )
        case "lingering":
            return (
                "its handler runs on in a worker although its run is over; ask again "
                "when it has returned, or stop that worker"
            )
        case "waiting" | "running" | "changing" | "pending" | "retrying":
            return "it runs without a person's help; `counterfoil why` says when"
        case "needs_review":
            return (
                "find out whether it was bought, and say so: `counterfoil deliveries "
                "decide` (buy_again buys anew)"
            )
        case "submitted":
            return "it is asked about, or reviewed; `counterfoil why` says what is next"
        case "failed":
            return "its job is gone: cancel it, and settle a new order instead"
        case "cancelled":
            return f"a cancelled {what} stays so; settle a new order instead"
        case _:
            return FINAL
