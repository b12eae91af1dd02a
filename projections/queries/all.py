"""Every query over read models and the feed, each a field: the only list of them."""

from dataclasses import dataclass

from projections.connections import Lend
from projections.queries.attempts import AttemptHistory
from projections.queries.bulk.items import BulkItems
from projections.queries.bulk.operations import BulkList
from projections.queries.events.one import OneEvent
from projections.queries.events.search import EventSearch
from projections.queries.heads.operation import FindOperation
from projections.queries.heads.order import FindOrder
from projections.queries.holders import FeedHolders
from projections.queries.jobs import JobRecords
from projections.queries.letters import Letters
from projections.queries.outbox.lag import OutboxLag
from projections.queries.outbox.waiting import OutboxWaiting
from projections.queries.processing.queues import QueueList
from projections.queries.processing.workers import WorkerList
from projections.queries.projections import ProjectionList
from projections.queries.records.audit import AuditList
from projections.queries.records.callbacks import CallbackList
from projections.queries.records.deliveries import DeliveryList
from projections.queries.records.dossier import Dossiers
from projections.queries.records.drifts import DriftList
from projections.queries.records.entitlements import EntitlementList
from projections.queries.records.job import JobRecordOf
from projections.queries.records.operations import OperationList
from projections.queries.records.orders import OrderList
from projections.queries.records.versions import StreamVersions


@dataclass(frozen=True, slots=True, kw_only=True)
class Queries:
    """What can be asked."""

    letters: Letters
    """What nothing runs again without a person."""
    attempts: AttemptHistory
    """What jobs and operations went through."""
    holders: FeedHolders
    """Who holds the feed back."""
    jobs: JobRecords
    """Every job that ever was."""
    found_events: EventSearch
    """The log as people search it."""
    event: OneEvent
    callbacks: CallbackList
    """What providers have told by themselves."""
    record: JobRecordOf
    """Everything of one job, as it is now."""
    versions: StreamVersions
    operations: OperationList
    deliveries: DeliveryList
    """Goods, and what became of them."""
    dossier: Dossiers
    """Everything of one delivery, as it is now."""
    orders: OrderList
    """And what waits for what."""
    operation: FindOperation
    order: FindOrder
    """One of them, as it is now; so is the operation."""
    entitlements: EntitlementList
    drifts: DriftList
    audit: AuditList
    outbox: OutboxLag
    """What waits to be published, now and over time."""
    outbox_waiting: OutboxWaiting
    projections: ProjectionList
    """Where projections stand."""
    bulk: BulkList
    """One action on many things, and how far it is."""
    bulk_items: BulkItems
    queues: QueueList
    """Pauses and limits, what runs and what is due."""
    workers: WorkerList
    """Processes that claim jobs."""


def queries_over(lend: Lend) -> Queries:
    """Return the queries over connections that `lend` lends."""
    return Queries(
        letters=Letters.over(lend),
        attempts=AttemptHistory(lend),
        holders=FeedHolders(lend),
        jobs=JobRecords(lend),
        found_events=EventSearch(lend),
        event=OneEvent(lend),
        callbacks=CallbackList(lend),
        record=JobRecordOf(lend),
        versions=StreamVersions(lend),
        operations=OperationList(lend),
        deliveries=DeliveryList(lend),
        dossier=Dossiers(lend),
        orders=OrderList(lend),
        operation=FindOperation(lend),
        order=FindOrder(lend),
        entitlements=EntitlementList(lend),
        drifts=DriftList(lend),
        audit=AuditList(lend),
        outbox=OutboxLag(lend),
        outbox_waiting=OutboxWaiting(lend),
        bulk=BulkList(lend),
        bulk_items=BulkItems(lend),
        projections=ProjectionList(lend),
        queues=QueueList(lend),
        workers=WorkerList(lend),
    )
