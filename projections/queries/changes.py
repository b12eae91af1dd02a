"""What has changed, in the order of the log: which thing, by what, and nothing else.

For whoever follows: the facts themselves are read where the thing is shown.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

import msgspec
import psycopg
from psycopg.rows import class_row, scalar_row

from domain.event import Instant
from projections.connections import Lend

JOBS: Final = "jobs"
OPERATIONS: Final = "operations"
DELIVERIES: Final = "deliveries"
ORDERS: Final = "orders"
MAINTENANCE: Final = "maintenance"

TOPICS: Final[Mapping[str, str]] = {
    "job": JOBS,
    "fulfillment": OPERATIONS,
    "goods": DELIVERIES,
    "order": ORDERS,
    "wallet": ORDERS,
    "addon": ORDERS,
    "maintenance": MAINTENANCE,
}
"""The topic of an event by the first word of its tag; others have none."""

_HORIZON: Final = "SELECT counterfoil.horizon()"
_BEYOND: Final = """
SELECT e.position, e.tenant_id, e.stream_id, e.version, e.type, e.recorded_at
  FROM counterfoil.events e
 WHERE e.position > %(after)s
   AND e.position <= %(horizon)s
 ORDER BY e.position
 LIMIT %(limit)s
"""
_IS_AHEAD: Final = "SELECT %(after)s > counterfoil.last_position()"
_UNFINISHED: Final = """
SELECT EXISTS (SELECT
                 FROM counterfoil.jobs j
                WHERE j.stream_id = %(job)s
                  AND j.tenant_id = %(tenant)s)
"""
_FIRST: Final = """
SELECT e.recorded_at < counterfoil.now() - make_interval(hours => %(hours)s)
  FROM counterfoil.events e
 WHERE e.position > %(after)s
 ORDER BY e.position
 LIMIT 1
"""


class ChangeRow(msgspec.Struct, frozen=True, kw_only=True):
    """One event, told without its facts."""

    position: int
    tenant_id: str
    stream_id: UUID
    version: int
    type: str
    recorded_at: Instant

    @property
    def topic(self) -> str | None:
        """What it is about; None: nothing that can be followed."""
        return TOPICS.get(self.type.partition(".")[0])


class Beyond(msgspec.Struct, frozen=True):
    """What lies beyond a position, as far as it was read."""

    rows: tuple[ChangeRow, ...]
    position: int
    """Everything up to here was seen."""


@dataclass(frozen=True, slots=True)
class Changes:
    """Reads on in the log."""

    lend: Lend

    def end(self) -> int:
        """Return the position up to which the log is final now."""
        with self.lend() as connection:
            return _horizon(connection)

    def beyond(self, after: int, limit: int) -> Beyond:
        """Return at most `limit` events beyond a position, in the order of the log."""
        with self.lend() as connection:
            # In a statement of its own, before the read: see migrations/0001_log.sql.
            horizon = _horizon(connection)
            given = {"after": after, "horizon": horizon, "limit": limit}
            with connection.cursor(row_factory=class_row(ChangeRow)) as cursor:
                rows = tuple(cursor.execute(_BEYOND, given).fetchall())
        if len(rows) == limit:
            return Beyond(rows, rows[-1].position)
        return Beyond(rows, max(after, horizon))

    def is_older(self, after: int, hours: int) -> bool:
        """Whether what comes after a position was recorded longer ago than that."""
        with (
            self.lend() as connection,
            connection.cursor(row_factory=scalar_row) as cursor,
        ):
            given = {"after": after, "hours": hours}
            return bool(cursor.execute(_FIRST, given).fetchone())

    def is_ahead(self, after: int) -> bool:
        """Whether the log has never handed out a position so high."""
        with (
            self.lend() as connection,
            connection.cursor(row_factory=scalar_row) as cursor,
        ):
            return bool(cursor.execute(_IS_AHEAD, {"after": after}).fetchone())

    def is_unfinished(self, tenant_id: str, job: UUID) -> bool:
        """Whether the job of that tenant may still end."""
        with (
            self.lend() as connection,
            connection.cursor(row_factory=scalar_row) as cursor,
        ):
            given = {"tenant": tenant_id, "job": job}
            return bool(cursor.execute(_UNFINISHED, given).fetchone())


def _horizon(connection: psycopg.Connection[Any]) -> int:
    with connection.cursor(row_factory=scalar_row) as cursor:
        position: int | None = cursor.execute(_HORIZON).fetchone()
    return position or 0
