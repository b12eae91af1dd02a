"""Low water: where scans for due jobs begin, so that dead rows are not walked over.

A full look finds the earliest due row of each priority, taken or not, and the bounds
are those rows; where nothing is due, a little before the look.  What lies below them
later was committed late, or set back by hand, and is found by the next full look: once
a second, and when a bounded scan finds less than it asked for.  Then too at most a
tenth of the time goes into full looks: under an old snapshot one of them walks over
everything that has ended since, while the bounded ones between them do not.
"""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple, cast
from uuid import UUID

from infrastructure.postgres.database import Connection, unavailable_in_our_words
from infrastructure.processor.holds.holds import Holds
from infrastructure.processor.turns.lines import Line, Lines

HEAD_STARTS: Final = tuple(timedelta(seconds=s) for s in (600, 300, 100, 0))
"""How much earlier than its `run_at` a job of priority 1 … 4 counts in the merge:
ageing is built in, a job of priority 4 waits at most 600 s behind fresh ones of 1."""

EPOCH: Final = datetime(2000, 1, 1, tzinfo=UTC)
"""Before every `run_at`; the table refuses an earlier one."""

_FULL_LOOK_EVERY: Final = 1.0
_PAUSE_PER_COST: Final = 10
_LATE: Final = timedelta(seconds=2)
"""What is committed so long after its `run_at` is found by a bounded look as well."""

# One round trip for an idle poller, over all its queues.  Ordered as the index is, or
# LIMIT 1 makes the planner prefer a scan of the whole table.  Lines are looked for by a
# function, or it all would be planned each time: ten times what the look takes.
_LOOK: Final = """
WITH moment AS MATERIALIZED (
    SELECT counterfoil.now() AS at
)
SELECT moment.at,
       ARRAY(SELECT due.run_at
               FROM unnest(%(queues)s::text[], %(priorities)s::int[],
                           %(lows)s::timestamptz[])
                    WITH ORDINALITY AS q(queue, priority, low, n)
               LEFT JOIN LATERAL (
                    SELECT j.run_at
                      FROM counterfoil.jobs j
                     WHERE j.state = 'waiting'
                       AND NOT j.is_suspect
                       AND NOT j.in_line
                       AND j.queue = q.queue
                       AND j.priority = q.priority
                       AND j.run_at >= q.low
                       AND j.run_at <= (SELECT at FROM moment)
                       AND j.kind = ANY(%(kinds)s::text[])
                     ORDER BY j.run_at
                     LIMIT 1) due ON true
              ORDER BY q.n),
       CASE WHEN %(full_queues)s::text[] <> '{}'
            THEN counterfoil.lines(%(full_queues)s::text[], %(kinds)s::text[]) END,
       CASE WHEN EXISTS (SELECT FROM counterfoil.queues)
            THEN counterfoil.rooms()::text END,
       EXISTS (SELECT
                 FROM counterfoil.workers w
                WHERE w.boot_id = %(boot)s
                  AND w.draining_since IS NOT NULL)
  FROM moment
"""


@dataclass(slots=True)
class LowWater:
    """The bounds of one claimer for some kinds of one queue."""

    queue: str
    lows: list[datetime] = field(default_factory=lambda: [EPOCH] * len(HEAD_STARTS))
    looked_at: float | None = None
    """When everything was last looked at; None: never."""
    cost: float = 0.0
    """How many seconds that took."""
    is_short: bool = True
    """Whether less was found than was asked for, so that a full look is wanted."""
    is_fresh: bool = False
    """Whether nothing was claimed since everything was looked at."""

    lines: Lines = field(default_factory=Lines)

    def looked(self, *, is_full: bool, any_due: bool) -> bool:
        """Return whether anything is due, and keep what a claim wants to know of it."""
        self.is_fresh = is_full
        self.is_short = not any_due or (self.is_short and not is_full)
        return any_due

    def is_full_due(self, at: float) -> bool:
        """Whether the next look has to be a full one."""
        if self.looked_at is None:
            return True
        age = at - self.looked_at
        rested = age >= _PAUSE_PER_COST * self.cost
        return age >= _FULL_LOOK_EVERY or (self.is_short and rested)


class Onlooker(NamedTuple):
    """Who looks, and where it is kept what holds him back."""

    boot: UUID
    holds: Holds


def look(
    connection: Connection,
    waters: Sequence[LowWater],
    kinds: Iterable[str],
    at: float,
    onlooker: Onlooker,
) -> list[bool]:
    """Return where something of `kinds` is due, and tell what holds; in one statement.

    Raises:
        DatabaseUnavailableError: the connection was lost.
    """
    full = [water.is_full_due(at) for water in waters]
    asked = _asked(waters, full) | {"kinds": sorted(set(kinds)), "boot": onlooker.boot}
    began_at = time.monotonic()
    with unavailable_in_our_words():
        row = connection.execute(_LOOK, asked, prepare=True).fetchall()[0]
    cost = time.monotonic() - began_at
    moment, earliest, lines, rooms, is_draining = cast("_Answer", row)
    onlooker.holds.told(rooms, is_draining=is_draining)
    dues = iter(earliest)
    answers: list[bool] = []
    for water, is_full in zip(waters, full, strict=True):
        due = [next(dues) for _ in HEAD_STARTS]
        if is_full:
            water.lows = [it or moment - _LATE for it in due]
            water.looked_at, water.cost = at, cost
            found = _found(lines or [], water.queue)
            water.lines.found([_line(*each, moment) for each in found])
            water.lines.are_due = any(it for _, firsts in found for it in firsts)
        any_due = any(due) or water.lines.are_due
        answers.append(water.looked(is_full=is_full, any_due=any_due))
    return answers


type _Dues = list[datetime | None]
type _Answer = tuple[datetime, _Dues, list[list[str | None]] | None, str | None, bool]


def _found(
    lines: Sequence[Sequence[str | None]], queue: str
) -> list[tuple[str, _Dues]]:
    """Return of each line of `queue` its tenant, and what is due first by priority."""
    return [
        (str(line[1]), [_instant(it) for it in line[2:]])
        for line in lines
        if line[0] == queue
    ]


def _instant(told: str | None) -> datetime | None:
    return None if told is None else datetime.fromisoformat(told)


def _asked(waters: Sequence[LowWater], full: Sequence[bool]) -> dict[str, object]:
    """Return which queues, priorities and lines are looked at, and from where on."""
    rows = [
        (water.queue, priority, EPOCH if is_full else low)
        for water, is_full in zip(waters, full, strict=True)
        for priority, low in enumerate(water.lows, 1)
    ]
    looked = zip(waters, full, strict=True)
    queues = {water.queue for water, is_full in looked if is_full}
    return {
        "queues": [row[0] for row in rows],
        "priorities": [row[1] for row in rows],
        "lows": [row[2] for row in rows],
        "full_queues": sorted(queues),
    }


def _line(tenant: str, firsts: Iterable[datetime | None], moment: datetime) -> Line:
    return Line(tenant, [it or moment - _LATE for it in firsts])
