"""What is answered about orders and about jobs that were asked for."""

import msgspec
from msgspec import UNSET, UnsetType

from api.http.records.job_views import JobDetailView, detail_view
from api.http.records.order_facts import OrderFacts, order_facts
from api.http.surface import Surface
from api.http.wire.ids import Prefix, told, told_if
from api.http.wire.values import Position, position
from projections.queries.heads.order import OrderRecord, Owed
from projections.queries.records.job import JobRecord


class OwedView(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that the order owes, and where that stands."""

    id: str
    operation: str | None = None
    """Of access: what is carried to the panel."""
    line: int | None = None
    """Of goods."""
    state: str
    code: str | None = None


class OrderLinks(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What belongs to an order."""

    self: str
    job: str | None = None
    refund: str
    refund_job: str | None = msgspec.field(default=None, name="refundJob")


class OrderView(OrderFacts, frozen=True, kw_only=True, rename="camel"):
    """One order, as it is now."""

    stream_id: str
    """The same as `id` without its prefix, as the front door's functions answer it."""
    version: int
    job_id: str | None
    """Decides what is owed; null: it owes nothing."""
    operations: tuple[OwedView, ...]
    deliveries: tuple[OwedView, ...]
    position: Position
    replayed: bool | UnsetType = UNSET
    """Whether it was settled before, by the same request; of an answer to one."""
    links: OrderLinks


def order_view(
    surface: Surface, order: OrderRecord, *, replayed: bool | UnsetType = UNSET
) -> OrderView:
    """Return an order as it is now."""
    job_id = told_if(Prefix.JOB, order.job_id)
    refund_job = told_if(Prefix.JOB, order.refund_job_id)
    facts = order_facts(order, order.settled_at)
    address = f"{surface}/orders/{facts['id']}"
    return OrderView(
        **facts,
        stream_id=str(order.stream_id),
        version=order.version,
        job_id=job_id,
        operations=tuple(_owed(Prefix.OPERATION, each) for each in order.operations),
        deliveries=tuple(_owed(Prefix.DELIVERY, each) for each in order.deliveries),
        position=position(order.position),
        replayed=replayed,
        links=OrderLinks(
            self=address,
            job=f"{surface}/jobs/{job_id}" if job_id else None,
            refund=f"{address}/refund",
            refund_job=f"{surface}/jobs/{refund_job}" if refund_job else None,
        ),
    )


def _owed(prefix: Prefix, owed: Owed) -> OwedView:
    return OwedView(
        id=told(prefix, owed.id),
        operation=owed.operation,
        line=owed.line,
        state=owed.state,
        code=owed.code,
    )


class EnqueuedView(JobDetailView, frozen=True, kw_only=True, rename="camel"):
    """A job that was asked for, as it is now."""

    job_id: str
    """The same as `id` without its prefix, as the front door's functions answer it."""
    duplicate: bool | UnsetType = UNSET
    """Whether an unfinished job had the unique key: this is that job."""
    order_id: str | UnsetType = UNSET
    """Of a refund: the shop's own."""
    replayed: bool | UnsetType = UNSET
    """Of a refund: whether the same one was asked for before."""
    position: Position


def enqueued_view(
    surface: Surface,
    job: JobRecord,
    *,
    duplicate: bool | UnsetType = UNSET,
    order_id: str | UnsetType = UNSET,
    replayed: bool | UnsetType = UNSET,
) -> EnqueuedView:
    """Return a job that was asked for, as it is now."""
    return EnqueuedView(
        **msgspec.structs.asdict(detail_view(surface, job)),
        job_id=str(job.job_id),
        duplicate=duplicate,
        order_id=order_id,
        replayed=replayed,
        position=position(job.events[-1].position),
    )
