"""The event-sourcing library's recorder over our log.

    Application(env={
        "PERSISTENCE_MODULE": "eventsourcing.postgres",
        "APPLICATION_RECORDER_TOPIC": "infrastructure.log.recorder:LogRecorder",
        "MAPPER_TOPIC": "infrastructure.log.mapper:StructMapper",
        "POSTGRES_DBNAME": …, "POSTGRES_HOST": …, …
    })

* It reads any stream, and the whole log up to the horizon: notification ids are
  positions.
* It writes only streams without a head.  A stream with one (an order, an
  entitlement, an operation, a job) changes together with its head, and only the
  batch store does that.
* It locks no table and notifies nobody.  Its own transactions take one advisory
  lock, which nothing else takes, so that the ids of one call are contiguous among
  the calls of this door, as the library promises.  The horizon does not need that.
* Inside `joined`, it works on the caller's connection: it neither begins nor
  commits, takes no second connection, and sees what the caller has written.
"""

import threading
import weakref
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any, Final, override
from uuid import UUID

import msgspec
import psycopg
from eventsourcing.persistence import (
    ApplicationRecorder,
    IntegrityError,
    InterfaceError,
    Notification,
    OperationalError,
    ProgrammingError,
    StoredEvent,
    Subscription,
)
from eventsourcing.postgres import PostgresApplicationRecorder, PostgresDatastore
from eventsourcing.utils import retry
from psycopg.pq import TransactionStatus
from psycopg.rows import dict_row, scalar_row

from infrastructure.log.appending import NewRow, append
from infrastructure.log.horizon import Horizon, fetch_horizon
from infrastructure.log.mapper import Envelope, split_topic, topic_of
from infrastructure.log.rows import (
    LAST_VERSION,
    EventRow,
    Window,
    read_log,
    read_stream,
)
from infrastructure.log.subscription import LogSubscription

_WAIT_FOR_OTHER_CALLS: Final = """
SELECT pg_advisory_xact_lock(hashtextextended('counterfoil.library_door', 0))
"""

_ISOLATION: Final = "SELECT current_setting('transaction_isolation')"

_HIGHEST: Final = """
SELECT max(position) FROM counterfoil.events WHERE position <= %(until)s
"""

type Connection = psycopg.Connection[Any]


class _Joined(threading.local):
    """The connection that this thread works on, when it is the caller's."""

    connection: Connection | None = None


class LogRecorder(PostgresApplicationRecorder):
    """Records into and reads from `counterfoil.events`."""

    def __init__(
        self,
        datastore: PostgresDatastore,
        *,
        events_table_name: str = "stored_events",
        **kwargs: Any,  # noqa: ANN401 - the library's chain of constructors
    ) -> None:
        """Take the library's datastore; the table is ours, whatever name is given."""
        super().__init__(datastore, events_table_name=events_table_name, **kwargs)
        self._horizon = Horizon(datastore.get_connection)
        self._joined = _Joined()
        self._subscriptions = weakref.WeakSet[LogSubscription]()
        self._turn = threading.Lock()

    @override
    def create_table(self) -> None:
        """Do nothing: tables come from migrations alone."""

    @contextmanager
    def joined(self, connection: Connection) -> Generator[None]:
        """Work on the caller's connection, in this thread, until the block ends.

        The caller commits, and repeats what it must: apart from `IntegrityError`,
        the driver's errors pass unchanged.
        """
        before, self._joined.connection = self._joined.connection, connection
        try:
            yield
        finally:
            self._joined.connection = before

    @override
    def insert_events(
        self, stored_events: Sequence[StoredEvent], **kwargs: Any
    ) -> Sequence[int] | None:
        """Return the positions of the events, all recorded, or none of them.

        Never repeated by itself: a lost answer does not say whether it committed.

        Raises:
            HeadedStreamError: one of the streams has a head.
            IntegrityError: a stream has an event of that version already.
            UnknownTopicError: a topic is not a tag with a schema number.
        """
        rows = [self._new_row(event) for event in stored_events]
        positions: list[int] | None = None
        with self._writing() as connection:
            with connection.cursor(row_factory=dict_row) as cursor:
                self._insert_events(cursor, stored_events, **kwargs)
            if rows:
                if self._joined.connection is None:
                    connection.execute(_WAIT_FOR_OTHER_CALLS)
                positions = append(connection, rows)
        with self._turn:
            for subscription in self._subscriptions:
                subscription.hint()
        return positions

    @contextmanager
    def _writing(self) -> Generator[Connection]:
        connection = self._joined.connection
        if connection is None:
            with self.datastore.get_connection() as pooled, pooled.transaction():
                yield pooled
            return
        status = connection.info.transaction_status
        if connection.autocommit and status == TransactionStatus.IDLE:
            msg = "the joined connection is not in a transaction"
            raise ProgrammingError(msg)
        try:
            yield connection
        except psycopg.IntegrityError as error:
            raise IntegrityError(str(error)) from error

    @override
    def select_events(
        self,
        originator_id: UUID | str,
        *,
        gt: int | None = None,
        lte: int | None = None,
        desc: bool = False,
        limit: int | None = None,
    ) -> Sequence[StoredEvent]:
        """Return events of one stream, of the versions in (gt, lte]."""
        window = Window(
            after=-1 if gt is None else gt,
            until=LAST_VERSION if lte is None else lte,
            limit=limit,
        )
        stream_id = _uuid(originator_id)
        rows = self._read(lambda c: read_stream(c, stream_id, window, backwards=desc))
        return [self._stored_event(row) for row in rows]

    @override
    def select_notifications(
        self,
        start: int | None,
        limit: int,
        stop: int | None = None,
        topics: Sequence[str] = (),
        *,
        inclusive_of_start: bool = True,
    ) -> Sequence[Notification]:
        """Return events by position: from `start`, up to `stop` and the horizon."""
        after = -1 if start is None else start - inclusive_of_start
        only = [self._tag_of(topic) for topic in topics]
        horizon = self._current_horizon()
        until = horizon if stop is None else min(stop, horizon)
        if until <= after:
            return []
        rows = self._read(lambda c: read_log(c, Window(after, until, limit), only))
        return [self._notification(row) for row in rows]

    @override
    def max_notification_id(self) -> int | None:
        """Return the highest position up to the horizon, or None in an empty log."""
        until = self._current_horizon()

        def look(connection: Connection) -> int | None:
            with connection.cursor(row_factory=scalar_row) as cursor:
                return cursor.execute(_HIGHEST, {"until": until}).fetchone()

        return self._read(look)

    @override
    def subscribe(
        self, gt: int | None = None, topics: Sequence[str] = ()
    ) -> Subscription[ApplicationRecorder]:
        """Return a subscription to events behind position `gt`."""
        subscription = LogSubscription(recorder=self, gt=gt, topics=topics)
        with self._turn:
            self._subscriptions.add(subscription)
        return subscription

    def _current_horizon(self) -> int:
        connection = self._joined.connection
        if connection is None:
            return _patiently(self._horizon.current)
        with connection.cursor(row_factory=scalar_row) as cursor:
            isolation = cursor.execute(_ISOLATION).fetchone()
        if isolation != "read committed":
            msg = f"under {isolation}, reading the log would miss events"
            raise ProgrammingError(msg)
        return fetch_horizon(connection)

    def _read[T](self, look: Callable[[Connection], T]) -> T:
        connection = self._joined.connection
        if connection is not None:
            return look(connection)

        def pooled() -> T:
            with self.datastore.get_connection() as connection:
                return look(connection)

        return _patiently(pooled)

    def _new_row(self, event: StoredEvent) -> NewRow:
        """Return the row that is written for an event of the library."""
        envelope = msgspec.json.decode(event.state, type=Envelope)
        tag, schema = self._tag_of(event.topic)
        return NewRow(
            tenant_id=envelope.tenant_id,
            stream_id=_uuid(event.originator_id),
            version=event.originator_version,
            tag=tag,
            schema=schema,
            data=bytes(envelope.data).decode(),
            meta=bytes(envelope.meta).decode(),
        )

    def _tag_of(self, topic: str) -> tuple[str, int]:
        """Return tag and schema number under which a topic is stored."""
        return split_topic(topic)

    def _topic_and_state(self, row: EventRow) -> tuple[str, bytes]:
        """Return what the library sees of a row: the reverse of `_new_row`."""
        envelope = Envelope(
            tenant_id=row.tenant_id,
            data=msgspec.Raw(row.data.encode()),
            meta=msgspec.Raw(row.meta.encode()),
            recorded_at=row.recorded_at_utc(),
        )
        return topic_of(row.tag, row.schema), msgspec.json.encode(envelope)

    def _stored_event(self, row: EventRow) -> StoredEvent:
        return StoredEvent(row.stream_id, row.version, *self._topic_and_state(row))

    def _notification(self, row: EventRow) -> Notification:
        topic, state = self._topic_and_state(row)
        return Notification(row.stream_id, row.version, topic, state, row.position)


def _patiently[T](look: Callable[[], T]) -> T:
    """Return what `look` returns, asked again for 2 s while connections are lost."""
    patient: Callable[[], T] = retry(
        (InterfaceError, OperationalError), max_attempts=10, wait=0.2
    )(look)
    return patient()


def _uuid(originator_id: UUID | str) -> UUID:
    return originator_id if isinstance(originator_id, UUID) else UUID(originator_id)
