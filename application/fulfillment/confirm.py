"""What follows when the panel shows the desired state of an operation.

The operation succeeds, its entitlement's observed state is recorded when it is
new, and its order is fulfilled together with the orders of all earlier operations
that ended because a later one carried their desired state; for those with goods a job
looks whether all of it is over.  Only a `create` fulfils
those: it carries what they asked for, their reset of traffic too.

The list of operations is read after the claim and outside any lock.  That is safe:
only handlers cover operations, two handlers of one entitlement never run at once
(serial key), and what is returned here is written only while our token holds.
"""

from collections.abc import Iterator

from application.fulfillment.begin import Begun
from application.fulfillment.changes import (
    observation,
    operation_change,
    order_delivered,
)
from application.fulfillment.subject import Subject
from application.ports import Streams
from application.unit import Head, Ids
from domain.entitlement.state import Sight
from domain.fulfillment.commands import Succeed
from domain.fulfillment.operations import CREATE
from domain.stream import Change, Ref, StreamKind


def confirmed(
    streams: Streams, ids: Ids, subject: Subject, begun: Begun, sight: Sight
) -> tuple[Change, ...]:
    """Return the changes that the settler commits together with the job."""
    head = Head(tenant_id=begun.tenant_id, state=begun.operation, correlation_id="")
    succeed = Succeed(sight.observed)
    changes = [
        operation_change(subject.ref, head, begun.operation, succeed),
        *_observed(streams, subject.entitlement_ref, sight, begun),
    ]
    for order in _orders(streams, subject):
        # Read as late as possible: a settlement moves the entitlement, and a
        # refund will move the order, while the panel is being asked.
        paid = streams.head(order)
        if paid is None:
            continue
        delivered = order_delivered(order, paid, subject.ref.id, ids, streams.clock)
        if delivered is not None:
            changes.append(delivered)
    return tuple(changes)


def _observed(
    streams: Streams, entitlement: Ref, sight: Sight, begun: Begun
) -> list[Change]:
    head = streams.head(entitlement)
    if head is None:
        return []
    seen = observation(entitlement, head, sight, begun.pushed)
    return [] if seen is None else [seen]


def _orders(streams: Streams, subject: Subject) -> Iterator[Ref]:
    if subject.order is not None:
        yield subject.order
    if subject.operation.operation != CREATE:
        return
    for row in streams.operations_of(subject.entitlement_ref.id):
        if (
            row.desired_version < subject.operation.desired_version
            and row.covered_by is not None
            and row.order is not None
            and not row.order_fulfilled
        ):
            yield Ref(StreamKind.ORDER, row.order)
