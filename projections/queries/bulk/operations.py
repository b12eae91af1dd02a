"""Bulk operations, the newest first, or one of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import msgspec
from psycopg.rows import class_row

from domain.event import Actor, Instant
from projections.connections import Lend

_COLUMNS: Final = """
SELECT stream_id AS bulk_id, version, state, action, filter, position, items,
       is_frozen, items_per_second, most_items, most_unapproved,
       requested_by::text AS requested, role, reason, approved_by::text AS approved,
       verdicts::text AS verdicts_json, job, code, created_at, n_previewed, n_done,
       n_refused, no_room_since
  FROM counterfoil.bulk_operations
"""

_ONE: Final = f"""
{_COLUMNS}
 WHERE tenant_id = %(tenant)s
   AND stream_id = %(bulk)s
"""

# Ids are made in the order of time, so the index gives the newest first.
_FIRST: Final = "00000000-0000-0000-0000-000000000000"
_LAST: Final = "ffffffff-ffff-ffff-ffff-ffffffffffff"

# Bounded and ordered by both: no other index gives that, so a small tenant never reads
# past everybody else's, whatever the planner believes of tenants.
_PAGE: Final = f"""
{_COLUMNS}
 WHERE (tenant_id, stream_id) < (%(tenant)s, coalesce(%(before)s::uuid, '{_LAST}'))
   AND (tenant_id, stream_id) >= (%(tenant)s, '{_FIRST}')
 ORDER BY tenant_id DESC, stream_id DESC
 LIMIT %(limit)s
"""

_actor = msgspec.json.Decoder(Actor)
_verdicts = msgspec.json.Decoder(dict[str, int])


class BulkLine(msgspec.Struct, frozen=True, kw_only=True):
    """One bulk operation."""

    bulk_id: UUID
    version: int
    state: str
    action: str
    filter: str | None
    position: int
    """How far the list had followed the log that it was chosen from; 0: named."""
    items: int
    is_frozen: bool
    items_per_second: float
    most_items: int
    most_unapproved: int
    requested: str
    role: str | None
    reason: str
    approved: str | None
    verdicts_json: str
    job: UUID
    code: str | None
    created_at: Instant
    n_previewed: int
    n_done: int
    n_refused: int
    no_room_since: Instant | None

    @property
    def requested_by(self) -> Actor:
        """Who asked for it."""
        return _actor.decode(self.requested)

    @property
    def approved_by(self) -> Actor | None:
        """Who else let it begin."""
        return None if self.approved is None else _actor.decode(self.approved)

    @property
    def verdicts(self) -> Mapping[str, int]:
        """What would have become of how many, when they were looked at."""
        return _verdicts.decode(self.verdicts_json)


@dataclass(frozen=True, slots=True)
class BulkList:
    """Looks at bulk operations."""

    lend: Lend

    def one(self, tenant_id: str, bulk: UUID) -> BulkLine | None:
        """Return one, if the tenant has it."""
        asked = {"tenant": tenant_id, "bulk": bulk}
        with (
            self.lend() as connection,
            connection.cursor(row_factory=class_row(BulkLine)) as cursor,
        ):
            return cursor.execute(_ONE, asked).fetchone()

    def page(
        self, tenant_id: str, before: UUID | None, limit: int
    ) -> Sequence[BulkLine]:
        """Return up to `limit` of a tenant's that are older than `before`."""
        asked = {"tenant": tenant_id, "before": before, "limit": limit}
        with (
            self.lend() as connection,
            connection.cursor(row_factory=class_row(BulkLine)) as cursor,
        ):
            return cursor.execute(_PAGE, asked).fetchall()
