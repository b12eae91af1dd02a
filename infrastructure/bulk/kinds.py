"""The job kind that previews bulk operations and carries them out."""

from contextlib import AbstractContextManager

from application.bulk.handler import BulkArgs, CarryOutBulk
from application.bulk.slice import BulkParts
from application.bulk.verbs import Verbs, verbs
from application.job_kinds import JobKind, Kinds
from application.operators.cancel import cancel_job
from application.operators.jobs.letters import letters_over
from application.operators.retry import retry_job
from application.operators.target import Targets
from application.policies import BULK, BULK_OPERATION, bulk_key_of
from application.ports import Streams
from application.unit import Ids
from domain.event import Actor
from domain.jobs.verdict import Budget
from domain.stream import StreamKind
from infrastructure.bulk.choosing import JobChooser
from infrastructure.bulk.items import PostgresItems
from infrastructure.errors import DatabaseUnavailableError
from infrastructure.postgres.batch_store import BatchStore, Connections
from infrastructure.postgres.database import Connection
from infrastructure.postgres.streams import PostgresStreams

_MOST_ATTEMPTS = 12
"""Each costs at most one item's time: whatever was begun before stays done."""


def bulk_kind(
    connections: Connections | None,
    streams: Streams,
    kinds: Kinds,
    ids: Ids,
    actor: Actor,
) -> JobKind[BulkArgs]:
    """Return the kind; `kinds` are those that its verbs know, itself among them."""
    lent = NoConnections() if connections is None else connections
    parts = bulk_parts(lent, streams, kinds, ids, actor)
    return JobKind(
        name=BULK_OPERATION,
        args=BulkArgs,
        handler=CarryOutBulk(parts),
        queue=BULK,
        budget=Budget(max_attempts=_MOST_ATTEMPTS),
        unique_key=lambda args: bulk_key_of(args.bulk_id),
        record=lambda args: args.bulk_id,
        record_kind=StreamKind.BULK,
    )


def bulk_parts(
    connections: Connections, streams: Streams, kinds: Kinds, ids: Ids, actor: Actor
) -> BulkParts:
    """Return what the work on bulk operations needs, over one database."""
    units = BatchStore(connections)
    return BulkParts(
        streams=streams,
        units=units,
        items=PostgresItems(connections, units),
        chooser=JobChooser(connections.connection),
        verbs=bulk_verbs(connections, kinds, ids),
        actor=actor,
    )


def bulk_verbs(connections: Connections, kinds: Kinds, ids: Ids) -> Verbs:
    """Return what can be done in bulk, over one database."""
    streams, units = PostgresStreams(connections), BatchStore(connections)
    targets = Targets(streams, streams, kinds)
    retry = retry_job(targets, units, ids)
    letters = letters_over(retry)
    cancel = cancel_job(targets, units, ids)
    return verbs(ids, retry, cancel, letters.acknowledge, letters.dismiss)


class NoConnections:
    """Lends nothing: kinds are told here, not run."""

    def connection(self) -> AbstractContextManager[Connection]:
        """Refuse.

        Raises:
            DatabaseUnavailableError: always.
        """
        detail = "kinds are told without one"
        raise DatabaseUnavailableError(detail)
