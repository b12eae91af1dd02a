"""Where the restore guard stands, and the work that is left, for people."""

from typing import Final

import msgspec

from application.operators.quarantine import (
    SHOWN,
    GuardState,
    LostPurchase,
    PlaceOf,
    Work,
)
from infrastructure.postgres.batch_store import Connections
from infrastructure.postgres.database import transaction
from infrastructure.postgres.heads.table import (
    instant,
    maybe_instant,
    maybe_text,
    number,
    text,
    truth,
    uuid,
)

LEFT: Final = """
SELECT count(*)
  FROM counterfoil.deliveries d
 CROSS JOIN counterfoil.restore_guard g
 WHERE d.state NOT IN ('delivered', 'refunded', 'cancelled')
   AND CASE WHEN d.restored_at IS NOT NULL THEN d.state <> 'needs_review'
            ELSE counterfoil.is_doubtful(d.stream_id, d.order_stream_id, g) END
"""
"""How many deliveries are neither reconciled nor in review."""

_WORK: Final = """
SELECT d.stream_id, d.tenant_id, d.order_id, d.line, d.provider, d.state, d.key,
       d.restored_at IS NOT NULL
  FROM counterfoil.deliveries d
 CROSS JOIN counterfoil.restore_guard g
 WHERE d.state NOT IN ('delivered', 'refunded', 'cancelled')
   AND CASE WHEN d.restored_at IS NOT NULL THEN d.state <> 'needs_review'
            ELSE counterfoil.is_doubtful(d.stream_id, d.order_stream_id, g) END
 ORDER BY d.stream_id
 LIMIT %(most)s
"""

_IN_REVIEW: Final = """
SELECT count(*)
  FROM counterfoil.deliveries d
 WHERE d.state = 'needs_review'
   AND d.restored_at IS NOT NULL
"""

_STATE: Final = """
SELECT counterfoil.now(), g.state, g.episode, g.signs, g.since, g.engaged_by, g.reason,
       g.is_planned, g.system_identifier::text, g.timeline, g.database_oid::bigint,
       g.table_oid::bigint, p.system_identifier::text, p.timeline,
       p.database_oid::bigint, p.table_oid::bigint
  FROM counterfoil.restore_guard g
 CROSS JOIN counterfoil.place() p
"""

_LOST: Final = """
SELECT l.key, l.purchase, l.host, l.found_at, d.stream_id
  FROM counterfoil.lost_purchases l
  LEFT JOIN counterfoil.deliveries d
         ON d.order_stream_id = split_part(l.key, ':', 2)::uuid
        AND d.line = split_part(l.key, ':', 3)::integer
 WHERE l.found_at >= %(since)s
 ORDER BY l.found_at DESC, l.key, l.purchase
 LIMIT %(most)s
"""

_COUNT_LOST: Final = """
SELECT count(*) FROM counterfoil.lost_purchases WHERE found_at >= %(since)s
"""

_LAST: Final = "SELECT coalesce(max(position), 0) FROM counterfoil.events"


def standing(connections: Connections) -> GuardState:
    """Return where the guard stands, all of one moment but for the clock."""
    with connections.connection() as connection, transaction(connection):
        (row,) = connection.execute(_STATE).fetchall()
        since = {"since": row[4] or row[0]}
        ((left,),) = connection.execute(LEFT).fetchall()
        ((in_review,),) = connection.execute(_IN_REVIEW).fetchall()
        work = connection.execute(_WORK, {"most": SHOWN}).fetchall()
        lost = connection.execute(_LOST, since | {"most": SHOWN}).fetchall()
        ((count,),) = connection.execute(_COUNT_LOST, since).fetchall()
        ((position,),) = connection.execute(_LAST).fetchall()
    return GuardState(
        now=instant(row[0]),
        state=text(row[1]),
        episode=number(row[2]),
        signs=signs_of(row[3]),
        since=maybe_instant(row[4]),
        engaged_by=maybe_text(row[5]),
        reason=maybe_text(row[6]),
        is_planned=truth(row[7]),
        stored=None if row[8] is None else _place(row[8:12]),
        found=_place(row[12:16]),
        position=number(position),
        left=number(left),
        in_review=number(in_review),
        work=tuple(_work(each) for each in work),
        lost=tuple(_lost(each) for each in lost),
        lost_purchases=number(count),
    )


def signs_of(value: object) -> tuple[str, ...]:
    """Return the signs of a row."""
    return msgspec.convert(value, tuple[str, ...])


def _place(row: tuple[object, ...]) -> PlaceOf:
    return PlaceOf(
        system_identifier=text(row[0]),
        timeline=number(row[1]),
        database_oid=number(row[2]),
        table_oid=number(row[3]),
    )


def _work(row: tuple[object, ...]) -> Work:
    return Work(
        delivery_id=uuid(row[0]),
        tenant_id=text(row[1]),
        order_id=text(row[2]),
        line=number(row[3]),
        provider=text(row[4]),
        state=text(row[5]),
        key=maybe_text(row[6]),
        is_marked=truth(row[7]),
    )


def _lost(row: tuple[object, ...]) -> LostPurchase:
    return LostPurchase(
        key=text(row[0]),
        purchase=number(row[1]),
        host=text(row[2]),
        found_at=instant(row[3]),
        delivery_id=None if row[4] is None else uuid(row[4]),
    )
