"""What is closed for maintenance now: since when, by whom, why, and until when."""

from dataclasses import dataclass
from typing import Final
from uuid import UUID

import msgspec
from psycopg.rows import class_row

from domain.event import Instant
from projections.connections import Lend, one_snapshot
from projections.moment import read_moment

COLUMNS: Final = """
SELECT stream_id AS window_id, state, scope, source, reason, notice_ru, notice_en,
       expected_return, opened_by, opened_at
  FROM counterfoil.maintenance
"""

_OPEN: Final = f"""
{COLUMNS}
 WHERE state = 'open'
 ORDER BY scope
"""

# From gate to gate in the index: NOT NULL alone is planned as a walk over all jobs as
# long as nothing is known about them.
_HELD: Final = """
WITH RECURSIVE waited_at(gate) AS (
    SELECT min(j.gate) FROM counterfoil.jobs j WHERE j.gate IS NOT NULL
     UNION ALL
    SELECT (SELECT min(j.gate) FROM counterfoil.jobs j WHERE j.gate > w.gate)
      FROM waited_at w
     WHERE w.gate IS NOT NULL
)
SELECT coalesce(sum((
           SELECT count(*) FROM counterfoil.jobs j WHERE j.gate = w.gate)), 0)::bigint
  FROM waited_at w
"""


class WindowLine(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One window."""

    window_id: UUID
    state: str
    """`open` or `closed`."""
    scope: str
    """`panel`, or `all`: the gates that it closes."""
    source: str
    reason: str
    notice_ru: str
    notice_en: str
    expected_return: Instant | None
    opened_by: str
    opened_at: Instant


class MaintenancePage(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The windows that are open, and the moment that is shown."""

    now: Instant
    windows: tuple[WindowLine, ...]
    held_jobs: int
    """Jobs that wait at a gate; those of an open one are about to be let go on."""
    live_workers: int


@dataclass(frozen=True, slots=True)
class MaintenanceState:
    """Tells what is closed."""

    lend: Lend

    def __call__(self) -> MaintenancePage:
        """Return the present state."""
        with one_snapshot(self.lend) as connection:
            with connection.cursor(row_factory=class_row(WindowLine)) as cursor:
                windows = tuple(cursor.execute(_OPEN).fetchall())
            ((held,),) = connection.execute(_HELD).fetchall()
            moment = read_moment(connection)
        return MaintenancePage(
            now=moment.now,
            windows=windows,
            held_jobs=held,
            live_workers=moment.live_workers,
        )
