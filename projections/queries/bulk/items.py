"""The items of one bulk operation, in the order in which they are begun."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import msgspec
from psycopg.rows import class_row

from domain.event import Instant
from projections.connections import Lend

_PAGE: Final = """
SELECT n, target_id, verdict, result, detail, position, done_at
  FROM counterfoil.bulk_items
 WHERE bulk_id = %(bulk)s
   AND tenant_id = %(tenant)s
   AND n > %(after)s
 ORDER BY n
 LIMIT %(limit)s
"""


class BulkItemLine(msgspec.Struct, frozen=True, kw_only=True):
    """One item."""

    n: int
    target_id: UUID
    verdict: str | None
    """What would have become of it; None: it was not looked at yet."""
    result: str | None
    """`done`, or the code of the refusal; None: it was not begun."""
    detail: str | None
    position: int | None
    """Of the last event that was written for it."""
    done_at: Instant | None


@dataclass(frozen=True, slots=True)
class BulkItems:
    """Lists items."""

    lend: Lend

    def __call__(
        self, tenant_id: str, bulk: UUID, *, after: int, limit: int
    ) -> Sequence[BulkItemLine]:
        """Return up to `limit` items behind number `after`."""
        asked = {"tenant": tenant_id, "bulk": bulk, "after": after, "limit": limit}
        with (
            self.lend() as connection,
            connection.cursor(row_factory=class_row(BulkItemLine)) as cursor,
        ):
            return cursor.execute(_PAGE, asked).fetchall()
