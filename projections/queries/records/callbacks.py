"""What providers have told by themselves, newest first; never what they say in full."""

from dataclasses import dataclass
from typing import Final
from uuid import UUID

import msgspec
from psycopg.rows import class_row

from domain.event import Instant
from projections.connections import Lend
from projections.queries.page import DEFAULT

# Ids are made in the order of time.
# Bounded and ordered by both: no other index gives that, so a small tenant never reads
# past everybody else's, whatever the planner believes of tenants.
_LATEST: Final = """
SELECT c.id, c.provider, c.event_id, c.state, c.code, c.kind, c.delivery_id,
       c.received_at, c.processed_at
  FROM counterfoil.provider_callbacks c
 WHERE (c.tenant_id, c.id)
     < (%(tenant_id)s,
        coalesce(%(before)s::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'))
   AND (c.tenant_id, c.id)
    >= (%(tenant_id)s, '00000000-0000-0000-0000-000000000000')
   AND (%(state)s::text IS NULL OR c.state = %(state)s)
   AND (%(provider)s::text IS NULL OR c.provider = %(provider)s)
 ORDER BY c.tenant_id DESC, c.id DESC
 LIMIT %(limit)s
"""


class CallbackRow(msgspec.Struct, frozen=True, kw_only=True):
    """One callback."""

    id: UUID
    provider: str
    event_id: str | None
    state: str
    code: str | None
    kind: str | None
    delivery_id: UUID | None
    received_at: Instant
    processed_at: Instant | None


class CallbacksWanted(msgspec.Struct, frozen=True, kw_only=True):
    """Which callbacks are wanted; None means any."""

    tenant_id: str
    state: str | None = None
    provider: str | None = None
    before: UUID | None = None
    limit: int = DEFAULT


@dataclass(frozen=True, slots=True)
class CallbackList:
    """Lists callbacks."""

    lend: Lend

    def __call__(self, wanted: CallbacksWanted) -> tuple[CallbackRow, ...]:
        """Return one more than wanted, if there are more."""
        given = msgspec.structs.asdict(wanted) | {"limit": wanted.limit + 1}
        with (
            self.lend() as connection,
            connection.cursor(row_factory=class_row(CallbackRow)) as cursor,
        ):
            return tuple(cursor.execute(_LATEST, given).fetchall())
