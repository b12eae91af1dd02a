"""Streams that a decision gives birth to: operations with their jobs, and jobs."""

from collections.abc import Iterable

from application.policies import jobs_after
from application.unit import Ids
from domain.event import Event, Instant
from domain.fulfillment import aggregate as operations
from domain.fulfillment.aggregate import FulfillmentOperation
from domain.fulfillment.commands import Request
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


def enqueued(ids: Ids, tenant_id: str, enqueue: jobs.Enqueue) -> Change:
    """Return the job that `enqueue` asks for."""
    events = jobs.decide(Job(), enqueue)
    return _born(Ref(StreamKind.JOB, ids()), tenant_id, events, jobs.fold(events))


def _born(ref: Ref, tenant_id: str, events: Iterable[Event], state: State) -> Change:
    return Change(
        ref=ref, tenant_id=tenant_id, expected=0, events=tuple(events), state=state
    )
