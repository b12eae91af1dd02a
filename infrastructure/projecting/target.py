"""One slot of one projection: batches are written there, in a caller's transaction."""

from collections.abc import Collection, Mapping
from typing import Any, Final

import psycopg
from eventsourcing.persistence import Tracking
from psycopg.rows import dict_row

from infrastructure.log.checkpoints import CheckpointRecorder
from infrastructure.log.datastore import PooledDatastore
from infrastructure.log.follower import Batch
from infrastructure.projecting.aside import SetAside
from infrastructure.projecting.folding import Folded, concerned, fold
from infrastructure.projecting.table import ReadTable
from projections.read_models.all import AnyProjection
from projections.read_models.projection import Key
from projections.read_models.slots import FOLLOWED, tracking_name

type Connection = psycopg.Connection[Any]

NOTHING_REFUSED: Final[Mapping[int, str]] = {}


class Target:
    """One slot of one projection."""

    def __init__(
        self,
        projection: AnyProjection,
        slot: str,
        table: ReadTable,
        datastore: PooledDatastore,
    ) -> None:
        """Take the projection, the slot, its table and the library's datastore."""
        self.projection = projection
        self.slot = slot
        self.table = table
        self.aside = SetAside(projection.name, slot)
        self._recorder = CheckpointRecorder(
            datastore, tracking_table_name=tracking_name(projection.name, slot)
        )

    def lock(self, connection: Connection) -> int | None:
        """Return the checkpoint, locked to the end of the transaction.

        None: another transaction has it locked.
        """
        with connection.cursor(row_factory=dict_row) as cursor:
            return self._recorder.lock(cursor, FOLLOWED)

    def write(
        self,
        connection: Connection,
        batch: Batch,
        *,
        refused: Mapping[int, str] = NOTHING_REFUSED,
        may_be_stuck: bool = True,
    ) -> Folded | None:
        """Fold and write a batch that begins at the checkpoint, and move that on.

        Inside the caller's transaction, which holds the projection's row.  `refused`
        names the events that are to be set aside, and why.  Without `may_be_stuck`
        nothing has been set aside before.  None: the batch does not begin where the
        checkpoint is, or another transaction has that locked; nothing was written.

        Raises:
            psycopg.Error, UnwritableError: see `refusal`; the transaction is lost.
            eventsourcing.persistence.IntegrityError: the batch is empty.
        """
        if self.lock(connection) != batch.after:
            return None
        folded = self.fold(connection, batch, refused, may_be_stuck=may_be_stuck)
        self.store(connection, folded)
        tracking = Tracking(FOLLOWED, batch.until)
        with connection.cursor(row_factory=dict_row) as cursor:
            self._recorder.move(cursor, tracking, after=batch.after)
        return folded

    def fold(
        self,
        connection: Connection,
        batch: Batch,
        refused: Mapping[int, str],
        *,
        may_be_stuck: bool,
    ) -> Folded:
        """Return what a batch comes to, on top of what the table holds."""
        events = concerned(self.projection, batch.events)
        stuck = {}
        if may_be_stuck and self.projection.is_by_stream:
            streams = sorted({found.stream_id for found in events})
            stuck = self.aside.stuck(connection, streams)

        def load(keys: Collection[Key]) -> dict[Key, Any]:
            return self.table.load(connection, keys)

        return fold(self.projection, events, load, refused=refused, stuck=stuck)

    def store(self, connection: Connection, folded: Folded) -> None:
        """Write what a batch came to."""
        self.table.delete(connection, folded.gone)
        self.table.write(connection, folded.changed)
        self.table.write(connection, folded.born)
        self.aside.keep(connection, folded.aside)
