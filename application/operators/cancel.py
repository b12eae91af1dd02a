"""Cancel what is not finished: the job and the record that it serves.

waiting job      ► cancelled at once, and its record with it
running job      ► its worker is asked to stop, and knows within one heartbeat
dead job         ► its failed record is cancelled: no retry revives it any more
cancelled        ► nothing, it is so already
succeeded        ► refused: final is final (I6)
a purchase open  ► refused: nobody knows yet whether it was bought
carrying others  ► refused: orders that were paid before would have no work (I1)
"""

from typing import Final

from application.operators.action import GONE, Action
from application.operators.changes import (
    commanded,
    delivery_commanded,
    record_commanded,
    state_of,
)
from application.operators.refusals import Refusals
from application.operators.target import FINAL, Target, Targets
from application.unit import Ids, Locked, Refused, UnitOfWork
from domain.access.permissions import Permission
from domain.event import Instant
from domain.fulfillment import commands as operations
from domain.fulfillment.aggregate import FulfillmentOperation
from domain.fulfillment.aggregate import Stage as OperationStage
from domain.goods import commands as goods
from domain.goods.state import GoodsDelivery
from domain.goods.state import Stage as DeliveryStage
from domain.jobs.aggregate import Cancel, Job, Stage
from domain.operators.actions import (
    DELIVERY_CANCELLED,
    FULFILLMENT_CANCELLED,
    JOB_CANCELLED,
)
from domain.order.aggregate import Order
from domain.order.aggregate import Stage as OrderStage
from domain.stream import Change, Ref, StreamKind

_OPERATOR = "operator"
_CARRYING = "carrying others"
_DOUBTFUL = "bought twice, perhaps"
_LIVE = frozenset({Stage.WAITING, Stage.RUNNING})
_UNSUBMITTED = frozenset({DeliveryStage.PENDING, DeliveryStage.FAILED})

_NAMES: Final = {
    StreamKind.OPERATION: FULFILLMENT_CANCELLED,
    StreamKind.DELIVERY: DELIVERY_CANCELLED,
    StreamKind.JOB: JOB_CANCELLED,
}


def cancel_job(targets: Targets, units: UnitOfWork, ids: Ids) -> Action:
    """Return the action that ends a job with its record."""
    return Action(
        verb="cancel",
        names=_NAMES,
        decide=_decide,
        permission=Permission.JOBS_WRITE,
        remedy=_remedy,
        targets=targets,
        units=units,
        refusals=Refusals(units, ids),
    )


def _decide(
    target: Target, locked: Locked, _now: Instant
) -> tuple[Change, ...] | Refused:
    operation = state_of(locked, target.record, FulfillmentOperation)
    if operation is not None and operation.stage is OperationStage.SUCCEEDED:
        return Refused(f"operation_{operation.stage}")
    if operation is not None and _carries_others(locked, target, operation):
        return Refused(f"operation_{_CARRYING}")
    delivery = state_of(locked, target.record, GoodsDelivery)
    if delivery is not None and _was_cancelled(delivery):
        return ()
    if delivery is not None and _is_kept(delivery):
        is_doubtful = delivery.stage in _UNSUBMITTED
        return Refused(f"delivery_{_DOUBTFUL if is_doubtful else delivery.stage}")
    job = state_of(locked, target.job, Job)
    if target.job is not None and job is None:
        return GONE
    if target.job is not None and job is not None and job.stage in _LIVE:
        return commanded(locked, target.job, target.record, Cancel())
    if target.record is not None and operation is not None:
        return record_commanded(locked, target.record, operations.Cancel())
    if target.record is not None and delivery is not None:
        command = goods.Cancel(code=_OPERATOR, refunds=True)
        return delivery_commanded(locked, target.record, command)
    if job is not None and job.stage is Stage.CANCELLED:
        return ()
    return GONE if job is None else Refused(f"job_{job.stage}")


def _was_cancelled(delivery: GoodsDelivery) -> bool:
    """Whether the money went back because an operator had cancelled it."""
    return delivery.stage is DeliveryStage.REFUNDED and delivery.code == _OPERATOR


def _is_kept(delivery: GoodsDelivery) -> bool:
    """Whether a purchase is open or done, or the money is back: no cancel undoes it."""
    if delivery.stage in _UNSUBMITTED:
        return delivery.is_doubtful
    return delivery.stage is not DeliveryStage.CANCELLED


def _carries_others(
    locked: Locked, target: Target, operation: FulfillmentOperation
) -> bool:
    """Whether orders that were paid before have no other work than the operation."""
    if operation.stage is OperationStage.CANCELLED:
        return False
    return any(_waits(locked, target, ref) for ref in target.carried)


def _waits(locked: Locked, target: Target, ref: Ref) -> bool:
    """Whether `ref` ended because the target carries it, and its order still waits."""
    covered = state_of(locked, ref, FulfillmentOperation)
    if covered is None or target.record is None or covered.order is None:
        return False
    order = state_of(locked, Ref(StreamKind.ORDER, covered.order), Order)
    is_paid = order is not None and order.stage is OrderStage.PAID
    return is_paid and covered.covered_by == target.record.id


def _remedy(what: str, stage: str) -> str:
    match stage:
        case "discarded":
            return f"a dead {what} does not run; leave it, or retry it"
        case "changing":
            return "ask again"
        case _ if stage == _CARRYING:
            return "what was paid before it waits for it: refund its own order instead"
        case "submitted":
            return (
                "its provider may have bought it: `counterfoil deliveries reconcile` "
                "asks, and what nobody can tell comes into review"
            )
        case "needs_review":
            return (
                "find out whether it was bought, and say so: `counterfoil deliveries "
                "decide` (not_purchased gives the money back)"
            )
        case _ if stage == _DOUBTFUL:
            return (
                "a person bought again where nobody knew the end of a purchase; its "
                "job goes on, or it comes into review"
            )
        case _:
            return FINAL
