"""How far each projection has read: the library's tracking over our one table.

A projection's recorder derives from `CheckpointRecorder` and writes its view in the
transaction that moves its checkpoint:

    with self.datastore.transaction(commit=True) as cursor:
        self._insert_tracking(cursor, tracking)   # IntegrityError: seen before
        cursor.execute(…)

A checkpoint only rises, so an event can be neither lost nor counted twice.  Its name
is `<projection>:<what it follows>`, both as they name themselves, so two projections
of one log never share one.
"""

from typing import Any, override

from eventsourcing.postgres import (
    PostgresDatastore,
    PostgresProcessRecorder,
    PostgresTrackingRecorder,
)
from psycopg.sql import SQL, Literal

from infrastructure.log.recorder import LogRecorder

_MOVE = SQL("""
INSERT INTO counterfoil.checkpoints AS c (name, position, updated_at)
VALUES ({follower} || %(application_name)s, %(notification_id)s, counterfoil.now())
    ON CONFLICT (name) DO UPDATE
   SET position = excluded.position, updated_at = excluded.updated_at
 WHERE c.position < excluded.position
RETURNING position
""")

_LOOK = SQL("""
SELECT max(position)
  FROM counterfoil.checkpoints
 WHERE name = {follower} || %s
""")

_SUFFIX = "_tracking"
"""The library names a table of its own for each projection: `<projection>_tracking`."""


class CheckpointRecorder(PostgresTrackingRecorder):
    """Keeps positions in `counterfoil.checkpoints`."""

    def __init__(
        self,
        datastore: PostgresDatastore,
        *,
        tracking_table_name: str = "notification_tracking",
        **kwargs: Any,  # noqa: ANN401 - the library's chain of constructors
    ) -> None:
        """Take the library's datastore, and the projection's name from its table's."""
        super().__init__(datastore, tracking_table_name=tracking_table_name, **kwargs)
        follower = Literal(tracking_table_name.removesuffix(_SUFFIX) + ":")
        self.insert_tracking_statement = _MOVE.format(follower=follower)
        self.max_tracking_id_statement = _LOOK.format(follower=follower)

    @override
    def create_table(self) -> None:
        """Do nothing: tables come from migrations alone."""


class LogProcessRecorder(CheckpointRecorder, LogRecorder, PostgresProcessRecorder):
    """Appends events and moves a checkpoint in one transaction."""
