"""The ways to append, each over a connection of its own.

stock   the library's recorder
store   the batch store, events alone
heads   the batch store, events and heads of jobs
door    the library's recorder over our log
floor   one INSERT of the events, which decides and locks nothing
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from eventsourcing.persistence import StoredEvent
from eventsourcing.postgres import PostgresApplicationRecorder
from msgspec import Raw, json

from application.unit import Group, Written
from bench.child import BenchError
from bench.log import rows, stock
from infrastructure.ids import new_id
from infrastructure.log.mapper import Envelope, topic_of
from infrastructure.log.recorder import LogRecorder
from infrastructure.postgres.batch_store import BatchStore
from infrastructure.postgres.database import Database, connect

FLOOR: Final = """
INSERT INTO counterfoil.events
       (tenant_id, stream_id, version, type, schema, data, meta)
SELECT 'default', stream_id, 1, 'operator.action_refused', 1, data::jsonb, meta::jsonb
  FROM unnest(%(streams)b::uuid[], %(data)b::text[], %(metas)b::text[])
       AS t(stream_id, data, meta)
"""


@dataclass(frozen=True, slots=True)
class Way:
    """How one variant makes a batch, and how it writes one."""

    make: Callable[[int], Any]
    write: Callable[[Any], None]


def by_stock(conninfo: str) -> Way:
    """Write through the library's recorder."""
    return _by_recorder(stock.recorder(conninfo), stock.stored_events)


def by_door(conninfo: str) -> Way:
    """Write through the library's recorder over our log."""
    topic = topic_of("operator.action_refused", 1)
    state = json.encode(
        Envelope(tenant_id=rows.TENANT, data=Raw(rows.REMARK_DATA), meta=Raw(rows.META))
    )

    def make(n: int) -> list[StoredEvent]:
        return [StoredEvent(new_id(), 1, topic, state) for _ in range(n)]

    return _by_recorder(LogRecorder(stock.datastore(conninfo)), make)


def _by_recorder(
    recorder: PostgresApplicationRecorder, make: Callable[[int], list[StoredEvent]]
) -> Way:
    def write(batch: Sequence[StoredEvent]) -> None:
        recorder.insert_events(batch)

    return Way(make, write)


def by_floor(conninfo: str) -> Way:
    """Write the events by one statement, deciding and locking nothing."""
    connection = connect(conninfo)
    data, meta = rows.REMARK_DATA.decode(), rows.META.decode()

    def make(n: int) -> dict[str, object]:
        ids = [new_id() for _ in range(n)]
        return {"streams": ids, "data": [data] * n, "metas": [meta] * n}

    def write(batch: dict[str, object]) -> None:
        connection.execute(FLOOR, batch, prepare=True)

    return Way(make, write)


def by_store(conninfo: str) -> Way:
    """Write events alone through the batch store."""
    return _by_batches(conninfo, rows.remark)


def by_heads(conninfo: str) -> Way:
    """Write events and heads of jobs through the batch store."""
    return _by_batches(conninfo, rows.job)


def _by_batches(conninfo: str, birth: Callable[[], Group]) -> Way:
    database = Database(conninfo, pool_size=1)
    database.open()
    store = BatchStore(database)

    def write(batch: Sequence[Group]) -> None:
        for result in store.commit(batch):
            if not isinstance(result, Written):
                raise BenchError(str(result))

    return Way(lambda n: [birth() for _ in range(n)], write)


WAYS: Final = {
    "stock": by_stock,
    "store": by_store,
    "heads": by_heads,
    "door": by_door,
    "floor": by_floor,
}
