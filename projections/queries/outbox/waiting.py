"""Messages that wait to be published, the oldest first; never what they say."""

from dataclasses import dataclass
from typing import Final
from uuid import UUID

import msgspec
from psycopg.rows import class_row

from domain.event import Instant
from projections.connections import Lend, one_snapshot
from projections.moment import read_moment

LOOKED_AT: Final = 20_000
"""Of all tenants' messages that wait, the oldest are looked at."""

_WAITING: Final = """
SELECT t.id, t.topic, t.recorded_at
  FROM (SELECT o.id, o.topic, o.recorded_at, o.tenant_id, o.position
          FROM counterfoil.outbox o
         WHERE o.published_at IS NULL
         ORDER BY o.position
         LIMIT %(looked_at)s) t
 WHERE t.tenant_id = %(tenant)s
 ORDER BY t.position
 LIMIT %(limit)s
"""


class WaitingMessage(msgspec.Struct, frozen=True, kw_only=True):
    """One message."""

    id: UUID
    topic: str
    recorded_at: Instant


class WaitingMessages(msgspec.Struct, frozen=True, kw_only=True):
    """The oldest messages of a tenant that wait, at the moment that is shown."""

    now: Instant
    messages: tuple[WaitingMessage, ...]


@dataclass(frozen=True, slots=True)
class OutboxWaiting:
    """Lists what waits."""

    lend: Lend

    def __call__(self, tenant_id: str, limit: int) -> WaitingMessages:
        """Return up to `limit` of the tenant's messages."""
        asked = {"tenant": tenant_id, "limit": limit, "looked_at": LOOKED_AT}
        with one_snapshot(self.lend) as connection:
            now = read_moment(connection).now
            with connection.cursor(row_factory=class_row(WaitingMessage)) as cursor:
                messages = tuple(cursor.execute(_WAITING, asked).fetchall())
        return WaitingMessages(now=now, messages=messages)
