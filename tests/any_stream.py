"""Fold a stream of any kind: what the tests compare heads with.

The product folds by the aggregate that it decides about; only a test that walks over
the whole log has to find the aggregate by the event.
"""

from typing import TypeIs, assert_never

from domain.bulk import aggregate as bulk
from domain.bulk import events as bulk_events
from domain.entitlement import aggregate as entitlement
from domain.entitlement import events as entitlement_events
from domain.entitlement.state import Entitlement
from domain.event import Event
from domain.fulfillment import aggregate as fulfillment
from domain.fulfillment import events as fulfillment_events
from domain.goods import aggregate as goods
from domain.goods import events as goods_events
from domain.goods.state import GoodsDelivery
from domain.jobs import aggregate as jobs
from domain.jobs import events as job_events
from domain.maintenance import aggregate as maintenance
from domain.maintenance import events as maintenance_events
from domain.operators import events as operator_events
from domain.order import aggregate as order
from domain.order import events as order_events
from domain.stream import State, StreamKind
from infrastructure.postgres.codec import UnknownEventError


def evolve(state: State, event: Event) -> State:
    """Return `state` after `event` of the same aggregate.

    Raises:
        UnknownEventError: the event belongs to another aggregate.
    """
    match state:
        case order.Order():
            if _of_order(event):
                return order.evolve(state, event)
        case Entitlement():
            if _of_entitlement(event):
                return entitlement.evolve(state, event)
        case fulfillment.FulfillmentOperation():
            if _of_operation(event):
                return fulfillment.evolve(state, event)
        case GoodsDelivery():
            if _of_delivery(event):
                return goods.evolve(state, event)
        case jobs.Job():
            if _of_job(event):
                return jobs.evolve(state, event)
        case maintenance.MaintenanceWindow():
            if _of_window(event):
                return maintenance.evolve(state, event)
        case bulk.BulkOperation():
            if _of_bulk(event):
                return bulk.evolve(state, event)
        case operator_events.Remark():
            if _of_operator(event):
                return operator_events.evolve(state, event)
        case _:
            pass
    raise UnknownEventError(event.tag, event.schema)


def _of_order(event: Event) -> TypeIs[order_events.OrderEvent]:
    return vars(order_events).get(type(event).__name__) is type(event)


def _of_entitlement(event: Event) -> TypeIs[entitlement_events.EntitlementEvent]:
    return vars(entitlement_events).get(type(event).__name__) is type(event)


def _of_operation(event: Event) -> TypeIs[fulfillment_events.FulfillmentEvent]:
    return vars(fulfillment_events).get(type(event).__name__) is type(event)


def _of_delivery(event: Event) -> TypeIs[goods_events.GoodsEvent]:
    return vars(goods_events).get(type(event).__name__) is type(event)


def _of_job(event: Event) -> TypeIs[job_events.JobEvent]:
    return vars(job_events).get(type(event).__name__) is type(event)


def _of_window(event: Event) -> TypeIs[maintenance_events.MaintenanceEvent]:
    return vars(maintenance_events).get(type(event).__name__) is type(event)


def _of_bulk(event: Event) -> TypeIs[bulk_events.BulkEvent]:
    return vars(bulk_events).get(type(event).__name__) is type(event)


def _of_operator(event: Event) -> TypeIs[operator_events.OperatorEvent]:
    return vars(operator_events).get(type(event).__name__) is type(event)


def unborn(kind: StreamKind) -> State:
    """Return the state from which a stream of `kind` is folded."""
    match kind:
        case StreamKind.ORDER:
            return order.Order()
        case StreamKind.ENTITLEMENT:
            return Entitlement()
        case StreamKind.OPERATION:
            return fulfillment.FulfillmentOperation()
        case StreamKind.DELIVERY:
            return GoodsDelivery()
        case StreamKind.JOB:
            return jobs.Job()
        case StreamKind.MAINTENANCE:
            return maintenance.MaintenanceWindow()
        case StreamKind.BULK:
            return bulk.BulkOperation()
        case StreamKind.REMARK:
            return operator_events.Remark()
        case _:
            assert_never(kind)
