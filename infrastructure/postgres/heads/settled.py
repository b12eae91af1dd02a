"""Settled orders as they are read for decisions: by their stream, or the shop's id."""

from typing import TYPE_CHECKING, Final, cast
from uuid import UUID

import msgspec

from application.ports import OrderKeys, SettledOrder
from domain.stream import Ref, StreamKind
from infrastructure.postgres.codec import decode_event
from infrastructure.postgres.database import Connection
from infrastructure.postgres.heads.table import (
    instant,
    maybe_instant,
    maybe_uuid,
    number,
    text,
    uuid,
)

if TYPE_CHECKING:
    from domain.order.events import OrderEvent

_ORDER: Final = """
SELECT o.tenant_id, o.correlation_id, o.version, e.type, e.schema, e.data::text,
       e.recorded_at, e.position, counterfoil.now(),
       -- The stream of an order is short.
       CASE WHEN o.state = 'refunded' THEN ARRAY(
           SELECT l.line::int
             FROM counterfoil.events r
            CROSS JOIN LATERAL jsonb_array_elements_text(r.data->'lines') AS l(line)
            WHERE r.stream_id = o.stream_id
              AND r.type = 'order.refunded') END
  FROM counterfoil.orders o
  JOIN counterfoil.events e ON e.stream_id = o.stream_id AND e.version = 1
 WHERE o.stream_id = %(id)s
"""

_ORDER_KEYS: Final = """
SELECT k.kind, k.stream_id, k.job_id, e.recorded_at
  FROM counterfoil.external_keys k
  LEFT JOIN counterfoil.events e
    ON k.kind = 'refund'
   AND e.stream_id = k.job_id
   AND e.version = 1
 WHERE k.tenant_id = %(tenant_id)s
   AND k.kind IN ('order', 'refund')
   AND k.key = %(key)s
"""


def settled_order(connection: Connection, stream_id: UUID) -> SettledOrder | None:
    """Return an order with its birth, or None."""
    row = connection.execute(_ORDER, {"id": stream_id}).fetchone()
    if row is None:
        return None
    birth = decode_event(text(row[3]), number(row[4]), text(row[5]))
    return SettledOrder(
        ref=Ref(StreamKind.ORDER, stream_id),
        tenant_id=text(row[0]),
        correlation_id=text(row[1]),
        version=number(row[2]),
        # The first event of an order's stream is one of the order's.
        birth=cast("OrderEvent", birth),
        settled_at=instant(row[6]),
        position=number(row[7]),
        read_at=instant(row[8]),
        refunded_lines=msgspec.convert(row[9] or [], frozenset[int]),
    )


def order_keys(connection: Connection, tenant_id: str, order_id: str) -> OrderKeys:
    """Return what was asked for under a shop's order id."""
    key = {"tenant_id": tenant_id, "key": order_id}
    rows = connection.execute(_ORDER_KEYS, key).fetchall()
    found = {text(row[0]): (uuid(row[1]), maybe_uuid(row[2])) for row in rows}
    order, fanout = found.get("order", (None, None))
    _, refund = found.get("refund", (None, None))
    asked_at = {text(row[0]): maybe_instant(row[3]) for row in rows}
    return OrderKeys(
        order=None if order is None else Ref(StreamKind.ORDER, order),
        fanout=None if fanout is None else Ref(StreamKind.JOB, fanout),
        refund=None if refund is None else Ref(StreamKind.JOB, refund),
        refund_asked_at=asked_at.get("refund"),
    )
