"""Streams that a decision gives birth to: operations, deliveries, and jobs."""

from collections.abc import Iterable

from application.policies import jobs_after, jobs_after_delivery
from application.unit import Ids
from domain.event import Event, Instant
from domain.fulfillment import aggregate as operations
from domain.fulfillment.aggregate import FulfillmentOperation
from domain.fulfillment.commands import Request
from domain.goods import aggregate as deliveries
from domain.goods.commands import Owe
from domain.goods.state import GoodsDelivery
from domain.jobs import aggregate as jobs
from domain.jobs.aggregate import Job
from domain.stream import Change, Ref, State, StreamKind


def requested(
    ids: Ids, tenant_id: str, request: Request, now: Instant
) -> tuple[Change, ...]:
    """Return the operation that `request` asks for, and the jobs that follow."""
    ref = Ref(StreamKind.OPERATION, ids())
    events = operations.decide(FulfillmentOperation(), request)
    operation = FulfillmentOperation()
    for event in events:
        operation = operations.evolve(operation, event)
    following = jobs_after(ref.id, events, now)
    return (
        _born(ref, tenant_id, events, operation),
        *(enqueued(ids, tenant_id, enqueue) for enqueue in following),
    )


def owed(ids: Ids, tenant_id: str, owe: Owe, due: Instant) -> tuple[Change, ...]:
    """Return the delivery of one line of goods, and the job that buys it when due."""
    ref = Ref(StreamKind.DELIVERY, ids())
    events = deliveries.decide(GoodsDelivery(), owe)
    following = jobs_after(ref.id, events, due)
    return (
        _born(ref, tenant_id, events, deliveries.fold(events)),
        *(enqueued(ids, tenant_id, enqueue) for enqueue in following),
    )


def after_delivery(ids: Ids, change: Change, now: Instant) -> tuple[Change, ...]:
    """Return the jobs that follow from the change of a delivery that was owed."""
    state = change.state
    if not isinstance(state, GoodsDelivery):
        return ()
    following = jobs_after_delivery(change.ref.id, state, change.events, now)
    return tuple(enqueued(ids, change.tenant_id, enqueue) for enqueue in following)


def enqueued(ids: Ids, tenant_id: str, enqueue: jobs.Enqueue) -> Change:
    """Return the job that `enqueue` asks for."""
    events = jobs.decide(Job(), enqueue)
    return _born(Ref(StreamKind.JOB, ids()), tenant_id, events, jobs.fold(events))


def _born(ref: Ref, tenant_id: str, events: Iterable[Event], state: State) -> Change:
    return Change(
        ref=ref, tenant_id=tenant_id, expected=0, events=tuple(events), state=state
    )
