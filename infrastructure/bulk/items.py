"""Items of bulk operations, in `counterfoil.bulk_items` (see `Items`).

Rows are written in batches, each a short transaction that begins by locking the row of
the claim's job: without the claim's token nothing is written.
"""

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final
from uuid import UUID

from application.bulk.port import LEASE_LOST, Claim, Item, ItemStoppedError
from application.unit import Group, Result
from domain.stream import Change
from infrastructure.bulk.carrying import OneItem
from infrastructure.bulk.glance import Glance
from infrastructure.postgres.arrays import TextArray, UuidArray
from infrastructure.postgres.batch_store import BatchStore, Connections
from infrastructure.postgres.database import Connection, transaction
from infrastructure.postgres.groups.with_rows import GroupWithRows
from infrastructure.postgres.heads.table import maybe_number, number, text, uuid

_HOLD: Final = """
SELECT 1
  FROM counterfoil.jobs
 WHERE stream_id = %(job)s
   AND state = 'running'
   AND token = %(token)s
   FOR SHARE
"""

_ADD: Final = """
INSERT INTO counterfoil.bulk_items (bulk_id, tenant_id, n, target_id)
SELECT %(bulk)s, %(tenant)s, %(first)s + t.n - 1, t.id
  FROM unnest(%(targets)b::uuid[]) WITH ORDINALITY AS t(id, n)
 ORDER BY t.n
"""

_CLEAR: Final = "DELETE FROM counterfoil.bulk_items WHERE bulk_id = %(bulk)s"

_PAGE: Final = """
SELECT n, target_id
  FROM counterfoil.bulk_items
 WHERE bulk_id = %(bulk)s
   AND n >= %(first)s
 ORDER BY n
 LIMIT %(most)s
"""

# By key, whatever the planner believes of a table that was empty a moment ago.
_JUDGE: Final = """
WITH told AS (
    UPDATE counterfoil.bulk_items i
       SET verdict = v.verdict
      FROM unnest(%(verdicts)b::text[]) WITH ORDINALITY AS v(verdict, n)
     WHERE i.bulk_id = %(bulk)s
       AND i.n >= %(first)s
       AND i.n < %(first)s + cardinality(%(verdicts)b::text[])
       AND i.n = %(first)s + v.n - 1
)
UPDATE counterfoil.bulk_operations
   SET n_previewed = %(first)s - 1 + cardinality(%(verdicts)b::text[])
 WHERE stream_id = %(bulk)s
"""

_VERDICTS: Final = """
SELECT verdict, count(*)::int
  FROM counterfoil.bulk_items
 WHERE bulk_id = %(bulk)s
   AND verdict IS NOT NULL
 GROUP BY verdict
 ORDER BY verdict
"""

# `least` leaves out what is null: a limit that is not set.
_ROOM: Final = """
SELECT greatest(least(
           CASE WHEN l.max_tenant_pending > 0
                THEN l.max_tenant_pending
                     - counterfoil.count_pending(%(tenant)s, l.max_tenant_pending) END,
           CASE WHEN l.max_pending > 0
                THEN l.max_pending
                     - counterfoil.count_all_pending(l.max_pending) END), 0),
       l.max_tenant_pending > 0 OR l.max_pending > 0
  FROM counterfoil.limits l
"""

_WAIT: Final = """
SELECT coalesce(extract(epoch FROM next_item_at - counterfoil.now()), 0)::float8
  FROM counterfoil.bulk_operations
 WHERE stream_id = %(bulk)s
"""

_BATCH: Final = 10_000
"""Rows of one statement."""


class PostgresItems:
    """Keeps items over pooled connections."""

    def __init__(self, connections: Connections, units: BatchStore) -> None:
        """Take the connections to borrow, and what commits groups over them."""
        self._connections = connections
        self._units = units

    def request(
        self, group: Group, bulk: UUID, tenant_id: str, targets: Sequence[UUID]
    ) -> Result:
        """See `Items.request`."""
        rows = _Named(bulk, tenant_id, targets)
        (result,) = self._units.commit([GroupWithRows.of(group, rows)])
        return result

    def clear(self, claim: Claim) -> None:
        """See `Items.clear`."""
        with self._held(claim) as connection:
            connection.execute(_CLEAR, {"bulk": claim.bulk.id})

    def add(
        self, claim: Claim, tenant_id: str, first: int, targets: Sequence[UUID]
    ) -> None:
        """See `Items.add`."""
        with self._held(claim) as connection:
            _add(connection, claim.bulk.id, tenant_id, first, targets)

    def page(self, bulk: UUID, first: int, most: int) -> Sequence[Item]:
        """See `Items.page`."""
        asked = {"bulk": bulk, "first": first, "most": most}
        with self._connections.connection() as connection:
            rows = connection.execute(_PAGE, asked, binary=True).fetchall()
        return [Item(number(row[0]), uuid(row[1])) for row in rows]

    def glance(self, targets: Sequence[UUID]) -> Glance:
        """See `Items.glance`."""
        return Glance(self._connections, targets)

    def judge(self, claim: Claim, first: int, verdicts: Sequence[str]) -> None:
        """See `Items.judge`."""
        told = {
            "bulk": claim.bulk.id,
            "first": first,
            "verdicts": TextArray([verdict.encode() for verdict in verdicts]),
        }
        with self._held(claim) as connection:
            connection.execute(_JUDGE, told)

    def verdicts(self, bulk: UUID) -> Mapping[str, int]:
        """See `Items.verdicts`."""
        with self._connections.connection() as connection:
            rows = connection.execute(_VERDICTS, {"bulk": bulk}).fetchall()
        return {text(row[0]): number(row[1]) for row in rows}

    def room(self, tenant_id: str) -> int | None:
        """See `Items.room`."""
        with self._connections.connection() as connection:
            row = connection.execute(_ROOM, {"tenant": tenant_id}).fetchone()
        return None if row is None or not row[1] else maybe_number(row[0])

    def wait_seconds(self, bulk: UUID) -> float:
        """See `Items.wait_seconds`."""
        with self._connections.connection() as connection:
            row = connection.execute(_WAIT, {"bulk": bulk}).fetchone()
        return float(str(row[0])) if row is not None else 0.0

    def unit(self, claim: Claim, item: Item) -> OneItem:
        """See `Items.unit`."""
        return OneItem(self._connections, self._units, claim, item)

    @contextmanager
    def _held(self, claim: Claim) -> Generator[Connection]:
        """Give a transaction in which the claim stays what it is."""
        held = {"job": claim.job.id, "token": claim.token}
        with (
            self._connections.connection() as connection,
            transaction(connection, keyed=True),
        ):
            if connection.execute(_HOLD, held).fetchone() is None:
                raise ItemStoppedError(LEASE_LOST)
            yield connection


class _Named:
    """What was named by whoever asks, written with the birth."""

    def __init__(self, bulk: UUID, tenant_id: str, targets: Sequence[UUID]) -> None:
        self._bulk = bulk
        self._tenant_id = tenant_id
        self._targets = targets

    def before(self, connection: Connection) -> None:
        for start in range(0, len(self._targets), _BATCH):
            page = self._targets[start : start + _BATCH]
            _add(connection, self._bulk, self._tenant_id, start + 1, page)

    def after(
        self, connection: Connection, changes: tuple[Change, ...], position: int
    ) -> None:
        """See `Rows.after`; nothing more is to be told."""


def _add(
    connection: Connection,
    bulk: UUID,
    tenant_id: str,
    first: int,
    targets: Sequence[UUID],
) -> None:
    rows = {
        "bulk": bulk,
        "tenant": tenant_id,
        "first": first,
        "targets": UuidArray.of(targets),
    }
    connection.execute(_ADD, rows)
