"""How far each projection has read: the library's tracking over our one table.

A projection's recorder derives from `CheckpointRecorder` and writes its view in the
transaction that moves its checkpoint:

    with self.datastore.transaction(commit=True) as cursor:
        self._insert_tracking(cursor, tracking)   # IntegrityError: seen before
        cursor.execute(…)

A checkpoint only rises, so an event can be neither lost nor counted twice.  Who reads
in batches locks it first, and moves it only from where his batch began:

    recorder.lock(cursor, application_name)          # None: somebody else writes
    recorder.move(cursor, tracking, after=position)  # IntegrityError: not from there

Its name
is `<projection>:<what it follows>`, both as they name themselves, so two projections
of one log never share one.
"""

from typing import Any, override

from eventsourcing.persistence import IntegrityError, Tracking
from eventsourcing.postgres import (
    PostgresDatastore,
    PostgresProcessRecorder,
    PostgresTrackingRecorder,
)
from psycopg import Cursor
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

_BEGIN = SQL("""
INSERT INTO counterfoil.checkpoints (name, position)
VALUES ({follower} || %s, 0)
    ON CONFLICT (name) DO NOTHING
""")

# Not waited for: whoever has it is writing these very events.
_LOCK = SQL("""
SELECT position
  FROM counterfoil.checkpoints
 WHERE name = {follower} || %s
   FOR UPDATE SKIP LOCKED
""")

_MOVE_ON = SQL("""
UPDATE counterfoil.checkpoints
   SET position = %(notification_id)s, updated_at = counterfoil.now()
 WHERE name = {follower} || %(application_name)s
   AND position = %(after)s
   AND position < %(notification_id)s
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
        self._begin = _BEGIN.format(follower=follower)
        self._lock = _LOCK.format(follower=follower)
        self._move_on = _MOVE_ON.format(follower=follower)

    def lock(self, cursor: Cursor[Any], application_name: str) -> int | None:
        """Return the position, locked until the transaction ends; at first it is 0.

        None: another transaction has it locked.
        """
        position = self._locked(cursor, application_name)
        if position is None:
            cursor.execute(self._begin, (application_name,), prepare=True)
            position = self._locked(cursor, application_name)
        return position

    def _locked(self, cursor: Cursor[Any], application_name: str) -> int | None:
        row = cursor.execute(self._lock, (application_name,), prepare=True).fetchone()
        return None if row is None else int(row["position"])

    def move(self, cursor: Cursor[Any], tracking: Tracking, *, after: int) -> None:
        """Move the checkpoint from exactly `after`.

        Raises:
            IntegrityError: it is not there, or the new position is not beyond.
        """
        told = {
            "application_name": tracking.application_name,
            "notification_id": tracking.notification_id,
            "after": after,
        }
        if cursor.execute(self._move_on, told, prepare=True).rowcount != 1:
            msg = f"the checkpoint is not at {after}"
            raise IntegrityError(msg)

    @override
    def create_table(self) -> None:
        """Do nothing: tables come from migrations alone."""


class LogProcessRecorder(CheckpointRecorder, LogRecorder, PostgresProcessRecorder):
    """Appends events and moves a checkpoint in one transaction."""
