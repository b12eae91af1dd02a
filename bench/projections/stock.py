"""The library's own runner, driven as its manual shows, over the same log.

A view is a tracking recorder of the library with a table of its own; the projection
handles one event at a time, and the library reads ahead by itself.  It folds with the
functions that our projector folds with, and its table has the columns, the key and the
indexes of ours, so what differs is how events are carried to the database.
"""

import threading
import time
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

import msgspec
from eventsourcing.application import Application
from eventsourcing.dispatch import singledispatchmethod
from eventsourcing.persistence import Tracking
from eventsourcing.postgres import PostgresTrackingRecorder
from eventsourcing.projection import Projection, ProjectionRunner
from psycopg.conninfo import conninfo_to_dict
from psycopg.sql import SQL, Composed, Identifier, Placeholder
from psycopg.types.json import Jsonb

from bench.child import BenchError
from domain.recorded import RecordedEvent
from infrastructure.log.mapper import StreamEvent, topic_of
from infrastructure.postgres.database import connect
from infrastructure.postgres.heads.table import number
from projections.read_models.projection import Projection as Fold
from projections.read_models.slots import table_name

_SCHEMA: Final = "stock"
_PATIENCE_SECONDS: Final = 600.0
_LOOK_SECONDS: Final = 1.0

_MAKE: Final = SQL("""
DROP SCHEMA IF EXISTS {schema} CASCADE;
CREATE SCHEMA {schema};
CREATE TABLE {schema}.{table} (LIKE counterfoil.{ours} INCLUDING ALL)
""")
_LAST: Final = """
SELECT coalesce(max(position), 0)
  FROM (SELECT position, type
          FROM counterfoil.events
         ORDER BY position
         LIMIT %(events)s) e
 WHERE type = ANY(%(tags)s)
"""
_SELECT: Final = SQL("SELECT {columns} FROM {schema}.{table} WHERE {key}")
_UPSERT: Final = SQL("""
INSERT INTO {schema}.{table} ({columns}) VALUES ({values})
    ON CONFLICT ({key}) DO UPDATE SET ({columns}) = ROW (EXCLUDED.*)
""")
_DELETE: Final = SQL("DELETE FROM {schema}.{table} WHERE {key}")


@dataclass(frozen=True, slots=True)
class Statements:
    """What a view does with one row."""

    select: Composed
    upsert: Composed
    delete: Composed


def _statements(fold: Fold[Any]) -> Statements:
    names = fold.row.__struct_fields__
    parts = {
        "schema": Identifier(_SCHEMA),
        "table": Identifier(fold.name),
        "columns": SQL(", ").join(map(Identifier, names)),
    }
    key = SQL(" AND ").join(
        SQL("{} = {}").format(Identifier(name), Placeholder(name)) for name in fold.key
    )
    return Statements(
        select=_SELECT.format(**parts, key=key),
        upsert=_UPSERT.format(
            **parts,
            values=SQL(", ").join(map(Placeholder, names)),
            key=SQL(", ").join(map(Identifier, fold.key)),
        ),
        delete=_DELETE.format(**parts, key=key),
    )


class View(PostgresTrackingRecorder):
    """Rows and position, written in one transaction for each event."""

    fold: Fold[Any]
    statements: Statements

    def write(self, recorded: RecordedEvent, tracking: Tracking) -> None:
        """Fold one event into its rows."""
        with self.datastore.transaction(commit=True) as cursor:
            self._insert_tracking(cursor, tracking)
            for key in self.fold.keys(recorded):
                named = dict(zip(self.fold.key, key, strict=True))
                before = None
                if not self.fold.is_birth(recorded):
                    cursor.execute(self.statements.select, named, prepare=True)
                    found = cursor.fetchone()
                    before = found and self.fold.row(**found)
                after = self.fold.fold(key, before, recorded)
                if after is None:
                    cursor.execute(self.statements.delete, named, prepare=True)
                else:
                    values = _values(after)
                    cursor.execute(self.statements.upsert, values, prepare=True)


def _values(row: msgspec.Struct) -> dict[str, object]:
    values = msgspec.structs.asdict(row)
    return {
        name: Jsonb(value) if isinstance(value, dict) else value
        for name, value in values.items()
    }


class Followed(Projection[View]):
    """Hands every event to the view, and tells when the last one is written."""

    last: int
    done: threading.Event

    @singledispatchmethod
    def process_event(self, domain_event: object, tracking: Tracking) -> None:
        """See the library: what is not one of ours is nobody's."""

    @process_event.register
    def _(self, found: StreamEvent, tracking: Tracking) -> None:
        if found.recorded_at is None:
            msg = "an event was read that was not recorded"
            raise BenchError(msg)
        recorded = RecordedEvent(
            position=tracking.notification_id,
            tenant_id=found.tenant_id,
            stream_id=found.originator_id,
            version=found.originator_version,
            tag=found.event.tag,
            schema=found.event.schema,
            event=found.event,
            meta=found.meta,
            recorded_at=found.recorded_at,
        )
        self.view.write(recorded, tracking)
        if tracking.notification_id >= self.last:
            self.done.set()


def follow(conninfo: str, fold: Fold[Any], events: int) -> float:
    """Return how many seconds the first `events` events of the log take.

    Raises:
        BenchError: they were not followed to the end.
    """
    _prepare(conninfo, fold)
    done = threading.Event()
    view = type("View_", (View,), {"fold": fold, "statements": _statements(fold)})
    told = {
        "name": _SCHEMA,
        "topics": tuple(topic_of(each.tag, each.schema) for each in fold.events),
        "last": last_position(conninfo, fold, events),
        "done": done,
    }
    began = time.monotonic()
    with ProjectionRunner(
        application_class=Application[UUID],
        projection_class=type("Followed_", (Followed,), told),
        view_class=view,
        env=_environment(conninfo),
    ) as runner:
        while not done.wait(_LOOK_SECONDS):
            if runner.is_interrupted.is_set():
                break  # leaving the block raises what has ended it
            if time.monotonic() - began > _PATIENCE_SECONDS:
                msg = f"the library's runner took longer than {_PATIENCE_SECONDS:.0f} s"
                raise BenchError(msg)
        return time.monotonic() - began


def last_position(conninfo: str, fold: Fold[Any], events: int) -> int:
    """Return the position of the last of the first `events` events that it reads.

    0 when it reads none of them.
    """
    tags = [each.tag for each in fold.events]
    asked = {"events": events, "tags": tags}
    with closing(connect(conninfo)) as connection:
        return number(connection.execute(_LAST, asked).fetchall()[0][0])


def rows(conninfo: str, fold: Fold[Any]) -> int:
    """Return how many rows the view has."""
    count = SQL("SELECT count(*) FROM {}").format(Identifier(_SCHEMA, fold.name))
    with closing(connect(conninfo)) as connection:
        return number(connection.execute(count).fetchall()[0][0])


def _prepare(conninfo: str, fold: Fold[Any]) -> None:
    """Make an empty view."""
    make = _MAKE.format(
        schema=Identifier(_SCHEMA),
        table=Identifier(fold.name),
        ours=Identifier(table_name(fold.name, "a")),
    )
    with closing(connect(conninfo)) as connection:
        connection.execute(make)


def _environment(conninfo: str) -> dict[str, str]:
    """Return what tells the library to keep its tracking in a schema of its own."""
    parts: dict[str, Any] = conninfo_to_dict(conninfo)
    return {
        "PERSISTENCE_MODULE": "eventsourcing.postgres",
        "APPLICATION_RECORDER_TOPIC": "infrastructure.log.recorder:LogRecorder",
        "MAPPER_TOPIC": "infrastructure.log.mapper:StructMapper",
        "POSTGRES_DBNAME": parts["dbname"],
        "POSTGRES_HOST": parts["host"],
        "POSTGRES_PORT": str(parts["port"]),
        "POSTGRES_USER": parts["user"],
        "POSTGRES_PASSWORD": "",
        "POSTGRES_SCHEMA": _SCHEMA,
    }
