"""Who holds the feed back: transactions that have written events and are still open.

Followers read up to the horizon, and the horizon is the smallest ticket still held
(docs/architecture.md).  So whoever has appended and does not commit holds back all
that was committed behind his ticket: projections, the relay, exports.
"""

from dataclasses import dataclass
from typing import Any, Final

import msgspec
from psycopg.rows import class_row, dict_row

from domain.event import Instant
from projections.connections import Lend

# As `counterfoil.horizon` counts: tickets are shared advisory locks of this database
# in our lock space, each named after the low half of a position.  A prepared
# transaction has no process any more; a lock that it holds on itself says which it is.
_HOLDERS: Final = """
WITH locks AS MATERIALIZED (
    SELECT * FROM pg_locks
), bound AS MATERIALIZED (
    -- Counting them first: no ticket among them is above what was handed out then.
    SELECT CASE WHEN count(*) >= 0 THEN counterfoil.last_position() END AS last
      FROM locks
), tickets AS (
    SELECT l.pid, l.virtualtransaction,
           (b.last & ~4294967295::bigint) | l.objid::bigint AS wide,
           b.last
      FROM locks l, counterfoil.installation i, bound b
     WHERE l.locktype = 'advisory'
       AND l.objsubid = 2
       AND l.mode = 'ShareLock'
       AND l.granted
       AND l.classid::bigint = (i.lock_space::bigint & 4294967295)
       AND l.database = (SELECT d.oid
                           FROM pg_database d
                          WHERE d.datname = current_database())
)
SELECT t.pid,
       x.gid,
       CASE WHEN t.wide > t.last THEN t.wide - 4294967296 ELSE t.wide END
           AS ticket,
       CASE WHEN t.pid IS NULL THEN 'prepared' ELSE a.state END AS state,
       coalesce(x.owner::text, a.usename::text) AS user,
       nullif(a.application_name, '') AS application,
       coalesce(host(a.client_addr), a.client_hostname) AS client,
       s.since,
       extract(epoch FROM counterfoil.now() - s.since)::float8 AS age_seconds,
       a.wait_event_type = 'Lock' AS waits_for_lock,
       t.pid IS NOT NULL AND a.state IS NULL AS is_hidden
  FROM tickets t
  LEFT JOIN pg_stat_activity a ON a.pid = t.pid
  LEFT JOIN pg_prepared_xacts x
         ON t.pid IS NULL
        AND x.transaction IN (SELECT own.transactionid
                                FROM locks own
                               WHERE own.pid IS NULL
                                 AND own.locktype = 'transactionid'
                                 AND own.virtualtransaction = t.virtualtransaction)
 CROSS JOIN LATERAL (SELECT coalesce(x.prepared, a.xact_start) AS since) s
 ORDER BY ticket, s.since NULLS LAST, t.pid
"""

# In a statement of its own, before the holders: one that has ended meanwhile is not
# shown, but what it held back is not forgotten.
_MOMENT: Final = """
SELECT counterfoil.now() AS now, current_user::text AS asked_as,
       counterfoil.horizon() AS horizon,
       (SELECT coalesce(max(position), 0) FROM counterfoil.events) AS last
"""


class Holder(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One open transaction that has written events."""

    pid: int | None
    """Of its server process; None: it is prepared, and has no process."""
    gid: str | None
    """The name of a prepared transaction."""
    ticket: int
    """Followers read up to here as long as it is open."""
    state: str | None
    """As PostgreSQL says it, or `prepared`; None: this role may not see it."""
    user: str | None
    application: str | None
    client: str | None
    """Address; None: over a socket, or this role may not see it."""
    since: Instant | None
    """When the transaction began, or was prepared."""
    age_seconds: float | None
    waits_for_lock: bool | None
    is_hidden: bool
    """Whether this role may not see what the session does, and since when."""


class FeedPage(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Everybody who holds the feed back; the first one holds the horizon itself."""

    now: Instant
    asked_as: str
    """The role that asked: what it may not see is not shown."""
    horizon: int
    last: int
    """Position of the last event that is committed: what is beyond the horizon up to
    here waits for the holders."""
    holders: tuple[Holder, ...]


@dataclass(frozen=True, slots=True)
class FeedHolders:
    """Tells who holds the feed back."""

    lend: Lend

    def __call__(self) -> FeedPage:
        """Return all open transactions that have written events, the oldest first."""
        with self.lend() as connection:
            with connection.cursor(row_factory=dict_row) as cursor:
                moment: Any = cursor.execute(_MOMENT).fetchone()
            with connection.cursor(row_factory=class_row(Holder)) as cursor:
                holders = tuple(cursor.execute(_HOLDERS).fetchall())
        return FeedPage(**moment, holders=holders)
