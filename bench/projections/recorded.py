"""A long log: what the product has recorded in a small one, many times over.

A small installation settles orders and fulfils them through the panel simulator, and
lives of the generic queue are added, some of which fail and some of which die.  That
log is copied again and again into one that only grows: every copy has ids of its own,
which rise, and its events in the order in which they were recorded.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import mkdtemp
from typing import Final
from uuid import UUID

from bench.child import BenchError
from bench.fulfillment import settle_and_fulfill, start
from bench.ground import Ground
from domain.event import Actor, Event, Meta
from domain.jobs import events as jobs
from infrastructure.demo.processes import Place, Processes
from infrastructure.ids import new_id
from infrastructure.log.rows import EventRow, Window, read_log
from infrastructure.postgres.codec import encode
from infrastructure.postgres.database import Connection, connect
from infrastructure.postgres.heads.table import number

_MOST_ORDERS: Final = 200
_EVENTS_PER_ORDER: Final = 500
"""Of a log that is wanted, for each order that is really fulfilled for it."""
_JOBS_PER_ORDER: Final = 4

_AGO: Final = datetime(2026, 1, 1, tzinfo=UTC)
_WORKER: Final = Actor(type="worker", id="bench:1")
_OPERATOR: Final = Actor(type="operator", id="bench")
_CANCELLED: Final = 20
"""One of so many jobs is cancelled before it runs."""
_OWNER: Final = jobs.Owner("bench", 1, UUID(int=1))

_OUR_ID: Final = re.compile(
    "[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}"
)

_COPY: Final = """
COPY counterfoil.events
     (tenant_id, stream_id, version, type, schema, data, meta, recorded_at)
FROM STDIN
"""
_COUNT: Final = "SELECT count(*) FROM counterfoil.events"


def fill(place: Ground, conninfo: str, events: int) -> int:
    """Let the log of an empty database grow to about `events`; return how many.

    Raises:
        BenchError: it did not grow as it was told.
    """
    orders = min(_MOST_ORDERS, max(events // _EVENTS_PER_ORDER, 1))
    rows = [*_fulfilled(place, orders), *lives(orders * _JOBS_PER_ORDER)]
    rows.sort(key=lambda row: row.recorded_at)  # stable: streams keep their order
    copies = max(round(events / len(rows)), 1)
    with closing(connect(conninfo)) as connection:
        for _ in range(copies):
            write_copy(connection, rows)
        connection.execute("VACUUM ANALYZE counterfoil.events")
        found = number(connection.execute(_COUNT).fetchall()[0][0])
    if found != copies * len(rows):
        msg = f"the log has {found} events, not {copies * len(rows)}"
        raise BenchError(msg)
    return found


def _fulfilled(place: Ground, orders: int) -> Sequence[EventRow]:
    """Return the log of some orders, as the product has written it."""
    folder = Path(mkdtemp(prefix="panel-", dir=place.folder))
    with place.database() as conninfo:
        with Processes(Place(folder, conninfo)) as processes:
            start(processes, conninfo)
            settle_and_fulfill(processes, conninfo, orders)
        with closing(connect(conninfo)) as connection:
            return read_log(connection, Window())


def lives(n: int) -> Iterator[EventRow]:
    """Return lives of jobs: one in ten fails once, one in a hundred dies of it."""
    for each in range(n):
        stream_id = new_id()
        is_cancelled = each % _CANCELLED == 1
        meta = Meta(
            actor=_OPERATOR if is_cancelled else _WORKER,
            reason="to be measured" if is_cancelled else None,
            correlation_id=f"job:{stream_id}",
            commit_id=new_id(),
        )
        for version, event in enumerate(_life(each), start=1):
            yield EventRow(
                position=0,
                tenant_id="default",
                stream_id=stream_id,
                version=version,
                tag=event.tag,
                schema=event.schema,
                data=encode(event),
                meta=encode(meta),
                recorded_at=_AGO + timedelta(milliseconds=5 * each + version),
            )


def _life(n: int) -> Iterator[Event]:
    yield jobs.Enqueued(
        kind="noop",
        queue="default",
        priority=1,
        args={"n": n},
        unique_key=None,
        serial_key=None,
        serial_order=0,
        run_at=_AGO,
        max_attempts=None,
        deadline=None,
    )
    if n % _CANCELLED == 1:
        yield jobs.Cancelled(attempt=0, code="cancelled_by_operator")
        return
    yield jobs.Claimed(attempt=1, owner=_OWNER, token=2, lease_seconds=60)
    if n % 10:
        yield jobs.Succeeded(attempt=1, token=2, result=None)
        return
    yield jobs.AttemptFailed(
        attempt=1, token=2, code="handler_crashed", error="ValueError", retry_at=_AGO
    )
    yield jobs.Claimed(attempt=2, owner=_OWNER, token=4, lease_seconds=60)
    if n % 100:
        yield jobs.Succeeded(attempt=2, token=4, result=None)
    else:
        yield jobs.Discarded(
            attempt=2,
            token=4,
            code="attempts_exhausted",
            error_code="handler_crashed",
            error="ValueError",
        )


def write_copy(connection: Connection, rows: Sequence[EventRow]) -> None:
    """Append `rows` once more, every id of ours replaced by a later one."""
    ids: dict[str, str] = {}

    def renamed(found: re.Match[str]) -> str:
        known = ids.get(found[0])
        if known is None:
            known = ids[found[0]] = str(new_id())
        return known

    with connection.cursor() as cursor, cursor.copy(_COPY) as copy:
        for row in rows:
            copy.write_row(
                (
                    row.tenant_id,
                    _OUR_ID.sub(renamed, str(row.stream_id)),
                    row.version,
                    row.tag,
                    row.schema,
                    _OUR_ID.sub(renamed, row.data),
                    _OUR_ID.sub(renamed, row.meta),
                    row.recorded_at,
                )
            )
