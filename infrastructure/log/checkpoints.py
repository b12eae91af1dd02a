"""How far each projection has read: the library's tracking over our one table.

A projection's recorder derives from `CheckpointRecorder` and writes its view in the
transaction that moves its checkpoint:

    with self.datastore.transaction(commit=True) as cursor:
        self._insert_tracking(cursor, tracking)   # IntegrityError: seen before
        cursor.execute(…)

A checkpoint only rises, so an event can be neither lost nor counted twice.
"""

from typing import Any, override

from eventsourcing.postgres import (
    PostgresDatastore,
    PostgresProcessRecorder,
    PostgresTrackingRecorder,
)
from psycopg.sql import SQL

from infrastructure.log.recorder import LogRecorder

_MOVE = SQL("""
INSERT INTO counterfoil.checkpoints AS c (name, position, updated_at)
VALUES (%(application_name)s, %(notification_id)s, counterfoil.now())
    ON CONFLICT (name) DO UPDATE
   SET position = excluded.position, updated_at = excluded.updated_at
 WHERE c.position < excluded.position
RETURNING position
""")

_LOOK = SQL("SELECT max(position) FROM counterfoil.checkpoints WHERE name = %s")


class CheckpointRecorder(PostgresTrackingRecorder):
    """Keeps positions in `counterfoil.checkpoints`, by the name of what they follow."""

    def __init__(
        self,
        datastore: PostgresDatastore,
        *,
        tracking_table_name: str = "notification_tracking",
        **kwargs: Any,  # noqa: ANN401 - the library's chain of constructors
    ) -> None:
        """Take the library's datastore; the table is ours, whatever name is given."""
        super().__init__(datastore, tracking_table_name=tracking_table_name, **kwargs)
        self.insert_tracking_statement = _MOVE.format()
        self.max_tracking_id_statement = _LOOK.format()

    @override
    def create_table(self) -> None:
        """Do nothing: tables come from migrations alone."""


class LogProcessRecorder(CheckpointRecorder, LogRecorder, PostgresProcessRecorder):
    """Appends events and moves a checkpoint in one transaction."""
