"""Counts of messages in one snapshot, and the oldest that waits among them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, LiteralString

from psycopg import sql
from psycopg.rows import tuple_row

from projections.read_models.outbox_lag import EVER, MINUTE, SPANS
from projections.reading import Reading

TAIL: Final = 20_000
"""Events behind the checkpoint that are read one by one."""

BEGINNING: Final = datetime(1970, 1, 1, tzinfo=UTC)
END: Final = datetime.max.replace(tzinfo=UTC)

_SEEN: Final = """
SELECT count(*), coalesce(max(position), 0)
  FROM (SELECT position
          FROM counterfoil.events
         WHERE position > %(read)s
         ORDER BY position
         LIMIT %(most)s) t
"""

# What this code cannot decode has a message too: it is counted where it is set aside.
_COUNTED: Final = """
SELECT t.topic, t.begins_at, t.block, t.recorded, 0::bigint AS gone,
       t.first_position, t.last_position, t.first_at, t.last_at,
       NULL::interval AS longest_wait
  FROM {table} t
 WHERE t.span = %(span)s
   AND {of_topic}
   AND t.begins_at >= %(since)s
   AND t.begins_at < %(until)s
   {of_tenant}
 UNION ALL
SELECT t.topic, t.begins_at, t.block, 0, t.gone, NULL, NULL, NULL, NULL,
       t.longest_wait
  FROM counterfoil.outbox_gone t
 WHERE t.span = %(span)s
   AND {of_topic}
   AND t.begins_at >= %(since)s
   AND t.begins_at < %(until)s
   {of_tenant}
 UNION ALL
SELECT t.type, s.begins_at, counterfoil.lag_block(%(span)s, t.position), 1, 0,
       t.position, t.position, t.recorded_at, t.recorded_at, NULL
  FROM (SELECT *
          FROM counterfoil.events
         WHERE position > %(read)s
           AND position <= %(seen)s
         UNION ALL
        SELECT e.*
          FROM counterfoil.projections p
          JOIN counterfoil.projection_set_aside a
            ON a.projection = p.name AND a.slot = p.live AND a.position <= %(read)s
          JOIN counterfoil.events e ON e.position = a.position
         WHERE p.name = 'outbox_lag') t
 CROSS JOIN LATERAL (
    SELECT counterfoil.lag_begins(%(span)s, t.recorded_at) AS begins_at) s
 WHERE t.type = ANY(%(topics)s)
   AND s.begins_at >= %(since)s
   AND s.begins_at < %(until)s
   {of_tenant}
"""

_FIRST: Final = """
SELECT c.begins_at
  FROM ({counted}) c
 GROUP BY c.begins_at
HAVING sum(c.recorded) > sum(c.gone)
 ORDER BY c.begins_at
 LIMIT 1
"""

_BLOCKS: Final = """
SELECT sum(c.gone) > 0, min(c.first_position), max(c.last_position), min(c.first_at)
  FROM ({counted}) c
 GROUP BY c.block
HAVING sum(c.recorded) > sum(c.gone)
 ORDER BY min(c.first_at)
"""

# By when the event was recorded, as everything here.
_SCAN: Final = """
SELECT min(e.recorded_at)
  FROM counterfoil.outbox t
  JOIN counterfoil.events e ON e.position = t.position
 WHERE t.position BETWEEN %(first)s AND %(last)s
   AND t.topic = ANY(%(topics)s)
   AND t.published_at IS NULL
   AND e.recorded_at >= %(since)s
   {of_tenant}
"""

_OF_TENANT: Final = sql.SQL("AND t.tenant_id = %(tenant_id)s")
_OF_ANY: Final = sql.SQL("")

# A list of one is read past all others' up to PostgreSQL 16, in the middle of an index.
_OF_TOPIC: Final = sql.SQL("t.topic = %(topic)s")
_OF_TOPICS: Final = sql.SQL("t.topic = ANY(%(topics)s)")


@dataclass(frozen=True, slots=True)
class Stretch:
    """What is counted: topics, and when their events were recorded."""

    span: str
    topics: tuple[str, ...]
    since: datetime = BEGINNING
    until: datetime = END


@dataclass(frozen=True, slots=True)
class Counts:
    """Counts in one snapshot."""

    reading: Reading
    tenant_id: str | None
    """None: those of all tenants together."""
    seen: int
    """Of the log, up to here; everything is unless `is_short`."""
    is_short: bool
    """Whether the projection is so far behind that not all is counted."""

    def rows(self, query: LiteralString, stretch: Stretch, **more: object) -> list[Any]:
        """Return the rows of a query over `{counted}`."""
        of_tenant = _OF_ANY if self.tenant_id is None else _OF_TENANT
        counted = sql.SQL(_COUNTED).format(
            table=self.reading.tables["outbox_lag"],
            of_tenant=of_tenant,
            of_topic=_OF_TOPICS if len(stretch.topics) > 1 else _OF_TOPIC,
        )
        return self._fetch(
            sql.SQL(query).format(counted=counted, of_tenant=of_tenant), stretch, more
        )

    def _fetch(
        self, query: sql.Composed, stretch: Stretch, more: dict[str, object]
    ) -> list[Any]:
        given = {
            "span": stretch.span,
            "topics": list(stretch.topics),
            "topic": stretch.topics[0],
            "since": stretch.since,
            "until": stretch.until,
            "tenant_id": self.tenant_id,
            "read": self.reading.position,
            "seen": self.seen,
        }
        with self.reading.connection.cursor(row_factory=tuple_row) as cursor:
            return cursor.execute(query, given | more).fetchall()

    def oldest(
        self, topic: str, since: datetime = BEGINNING, until: datetime = END
    ) -> datetime | None:
        """Return when the oldest message of a stretch that waits was recorded.

        The first day that has one, in it the first hour, in that the first minute, in
        its blocks the first message: however many there are, few are looked at.
        """
        for span, length in SPANS.items():
            if span != MINUTE and until - since <= length:
                continue
            first = self._first(Stretch(span, (topic,), since, until))
            if first is None:
                return None
            since, until = first, first + length
        return self._oldest_of(since, topic)

    def _first(self, stretch: Stretch) -> datetime | None:
        rows = self.rows(_FIRST, stretch)
        return rows[0][0] if rows else None

    def _oldest_of(self, minute: datetime, topic: str) -> datetime | None:
        stretch = Stretch(MINUTE, (topic,), minute, minute + SPANS[MINUTE])
        oldest: datetime | None = None
        for has_gone, first, last, first_at in self.rows(_BLOCKS, stretch):
            if oldest is not None and first_at >= oldest:
                break
            found: datetime | None = first_at
            if has_gone:
                ((found,),) = self.rows(_SCAN, stretch, first=first, last=last)
            oldest = min((at for at in (oldest, found) if at), default=None)
        return oldest


def count(reading: Reading, tenant_id: str | None) -> Counts:
    """Return the counts of a snapshot."""
    asked = {"read": reading.position, "most": TAIL}
    with reading.connection.cursor(row_factory=tuple_row) as cursor:
        ((behind, seen),) = cursor.execute(_SEEN, asked).fetchall()
    return Counts(reading, tenant_id, seen, is_short=behind == TAIL)


def ever(topics: Sequence[str]) -> Stretch:
    """Return all that there is of some topics."""
    return Stretch(EVER, tuple(topics))
