"""The lines of goods of orders: where each stands, and what it waits for."""

from typing import Final
from uuid import UUID

import msgspec
from psycopg import sql
from psycopg.rows import class_row

from domain.event import Instant
from projections.queries.records.waits_for import WaitsFor
from projections.reading import Reading

# One look of the index for each order.
_GOODS: Final = sql.SQL("""
SELECT i.id AS order_stream_id, d.*
  FROM unnest(%(ids)s::uuid[]) AS i(id)
 CROSS JOIN LATERAL (
    SELECT d.stream_id, d.line, d.state, d.standing, d.provider, d.code,
           d.deferred_code, d.purchases, d.next_at
      FROM {deliveries} d
     WHERE d.order_stream_id = i.id
     ORDER BY d.order_stream_id, d.line
     LIMIT 100) d
""")


class GoodsWait(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One line of goods, and what it waits for."""

    delivery_id: UUID
    line: int
    provider: str
    state: str
    waits_for: WaitsFor | None
    """None: it is over."""
    purchases: int
    code: str | None
    """What was last said against it, or why nothing is bought for now."""
    next_at: Instant | None


class _Goods(msgspec.Struct, frozen=True, kw_only=True):
    order_stream_id: UUID
    stream_id: UUID
    line: int
    state: str
    standing: str
    provider: str
    code: str | None
    deferred_code: str | None
    purchases: int
    next_at: Instant | None


URGENT: Final = (
    WaitsFor.PERSON,
    WaitsFor.PARKED,
    WaitsFor.PROVIDER,
    WaitsFor.RETRY,
    WaitsFor.RUNNING,
    WaitsFor.TURN,
)
"""Of several lines, the one is told first that needs somebody most."""


def goods_of(reading: Reading, orders: list[UUID]) -> dict[UUID, tuple[GoodsWait, ...]]:
    """Return the lines of goods of orders, by line; of those that have some."""
    statement = _GOODS.format(deliveries=reading.tables["deliveries"])
    found: dict[UUID, tuple[GoodsWait, ...]] = {}
    with reading.connection.cursor(row_factory=class_row(_Goods)) as cursor:
        for each in cursor.execute(statement, {"ids": orders}):
            before = found.get(each.order_stream_id, ())
            found[each.order_stream_id] = (*before, _line(each))
    return found


def _line(goods: _Goods) -> GoodsWait:
    return GoodsWait(
        delivery_id=goods.stream_id,
        line=goods.line,
        provider=goods.provider,
        state=goods.state,
        waits_for=_goods_wait_for(goods),
        purchases=goods.purchases,
        code=goods.deferred_code or goods.code,
        next_at=goods.next_at,
    )


def _goods_wait_for(goods: _Goods) -> WaitsFor | None:
    match goods.state, goods.standing:
        case (("needs_review" | "failed"), _):
            return WaitsFor.PERSON
        case "submitted", "asked":
            return WaitsFor.RUNNING
        case "submitted", _:
            return WaitsFor.PROVIDER
        case "pending", _ if goods.deferred_code is not None:
            return WaitsFor.PARKED
        case "pending", _:
            return WaitsFor.TURN if goods.next_at is None else WaitsFor.RETRY
        case _:
            return None
