"""Wire the use cases of bulk operations over one pool of connections."""

from application.bulk.request import RequestBulk
from application.bulk.steer import SteerBulk
from application.job_kinds import Kinds
from infrastructure.bulk.choosing import JobChooser
from infrastructure.bulk.items import PostgresItems
from infrastructure.bulk.kinds import bulk_verbs
from infrastructure.ids import new_id
from infrastructure.postgres.batch_store import BatchStore, Connections
from infrastructure.postgres.streams import PostgresStreams


def request_bulk_over(connections: Connections, kinds: Kinds) -> RequestBulk:
    """Return what asks for bulk operations."""
    units = BatchStore(connections)
    return RequestBulk(
        items=PostgresItems(connections, units),
        chooser=JobChooser(connections.connection),
        verbs=bulk_verbs(connections, kinds, new_id),
        units=units,
        ids=new_id,
    )


def steer_bulk_over(connections: Connections) -> SteerBulk:
    """Return what steers bulk operations."""
    return SteerBulk(PostgresStreams(connections), BatchStore(connections), new_id)
