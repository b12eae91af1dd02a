"""The figures that a demo ends with, counted in the log and the heads."""

from dataclasses import dataclass
from typing import Final

from infrastructure.demo.diary import Diary
from infrastructure.postgres.database import Connection
from infrastructure.postgres.heads.table import number, text

_PROGRESS: Final = """
SELECT (SELECT count(*) FROM counterfoil.orders),
       (SELECT count(*) FROM counterfoil.orders WHERE state = 'fulfilled'),
       (SELECT count(*) FROM counterfoil.jobs),
       (SELECT count(*) FROM counterfoil.deliveries
         WHERE state IN ('pending', 'submitted', 'needs_review')),
       (SELECT count(*) FROM counterfoil.jobs_dead WHERE state = 'discarded')
"""

_COUNTS: Final = """
SELECT type, count(*) FROM counterfoil.events GROUP BY type
"""

_STATES: Final = """
SELECT state, coalesce(CASE WHEN state = 'cancelled' THEN code END, ''), count(*)
  FROM counterfoil.operations
 GROUP BY 1, 2
"""

_GOODS: Final = """
SELECT state, count(*) FROM counterfoil.deliveries GROUP BY 1
"""

_DEAD: Final = """
SELECT kind || ': ' || code || coalesce(' (' || error_code || ')', ''), count(*)
  FROM counterfoil.jobs_dead
 GROUP BY 1
"""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a demo is."""

    settled: int
    fulfilled: int
    unfinished: int
    """Jobs."""
    undelivered: int
    """Lines of goods that are neither delivered nor ended otherwise."""
    dead: int


def progress(connection: Connection) -> Progress:
    """Return the present counts."""
    row = connection.execute(_PROGRESS).fetchall()[0]
    return Progress(*map(number, row))


def figures(connection: Connection, diary: Diary) -> list[tuple[str, str]]:
    """Return the lines of the final table: a name and its figure."""
    counts = {
        text(row[0]): number(row[1]) for row in connection.execute(_COUNTS).fetchall()
    }
    states = {
        (text(row[0]), text(row[1])): number(row[2])
        for row in connection.execute(_STATES).fetchall()
    }
    dead = connection.execute(_DEAD).fetchall()
    now = progress(connection)
    return [
        ("orders settled", f"{now.settled:,}"),
        ("orders fulfilled", f"{now.fulfilled:,}"),
        ("operations", f"{sum(states.values()):,}"),
        ("  succeeded", f"{states.get(('succeeded', ''), 0):,}"),
        ("  covered by a later one", f"{states.get(('cancelled', 'covered_by'), 0):,}"),
        *_goods(connection),
        ("purchases submitted", f"{counts.get('goods.purchase_submitted', 0):,}"),
        ("  refused", f"{counts.get('goods.purchase_refused', 0):,}"),
        ("  unknown", f"{counts.get('goods.purchase_unknown', 0):,}"),
        ("reviews decided", f"{counts.get('goods.review_decided', 0):,}"),
        ("operators' commands", f"{diary.commands:,}"),
        ("  refunds", f"{len(diary.refunds):,}"),
        ("  refused", f"{len(diary.refused):,}"),
        ("drifts found", f"{counts.get('entitlement.drift_detected', 0):,}"),
        ("attempts started", f"{counts.get('fulfillment.attempt_started', 0):,}"),
        ("attempts failed", f"{counts.get('fulfillment.attempt_failed', 0):,}"),
        ("parked episodes", f"{counts.get('fulfillment.parked', 0):,}"),
        ("jobs held by maintenance", f"{counts.get('job.unparked', 0):,}"),
        ("jobs rescued", f"{counts.get('job.lease_expired', 0):,}"),
        ("events in the log", f"{sum(counts.values()):,}"),
        ("dead letters", f"{now.dead:,}"),
        *(("  " + text(row[0]), f"{number(row[1]):,}") for row in dead),
    ]


def _goods(connection: Connection) -> list[tuple[str, str]]:
    states = {
        text(row[0]): number(row[1]) for row in connection.execute(_GOODS).fetchall()
    }
    return [
        ("lines of goods", f"{sum(states.values()):,}"),
        ("  delivered", f"{states.get('delivered', 0):,}"),
        ("  refunded", f"{states.get('refunded', 0):,}"),
        ("  cancelled by a refund", f"{states.get('cancelled', 0):,}"),
    ]
