"""Heads of orders, in `counterfoil.orders`."""

from typing import Final
from uuid import UUID

from application.unit import Head
from domain.event import Meta
from domain.order.aggregate import Order, Stage
from domain.stream import Change
from infrastructure.postgres.heads.table import (
    Columns,
    HeadTable,
    Row,
    folded,
    maybe_uuid,
    number,
    text,
    truth,
    uuid,
)

_READ: Final = """
SELECT stream_id, tenant_id, correlation_id, version, state, order_id, customer_id,
       slot, kind, currency, amount_minor, discount_minor, fulfilled_by,
       has_goods
  FROM counterfoil.orders
 WHERE stream_id = ANY(%(ids)s)
"""

_INSERT: Final = """
INSERT INTO counterfoil.orders
SELECT * FROM jsonb_populate_recordset(NULL::counterfoil.orders, %(rows)s::jsonb)
"""

_UPDATE: Final = """
UPDATE counterfoil.orders o
   SET version = r.version,
       state = r.state,
       fulfilled_by = r.fulfilled_by
  FROM jsonb_populate_recordset(NULL::counterfoil.orders, %(rows)s::jsonb) r
 WHERE o.stream_id = r.stream_id
   AND o.stream_id = ANY(%(ids)b::uuid[])
"""


def _head(row: Row) -> tuple[UUID, Head]:
    state = Order(
        version=number(row[3]),
        stage=Stage(text(row[4])),
        order_id=text(row[5]),
        customer_id=text(row[6]),
        slot=number(row[7]),
        kind=text(row[8]),
        currency=text(row[9]),
        amount_minor=number(row[10]),
        discount_minor=number(row[11]),
        fulfilled_by=maybe_uuid(row[12]),
        has_goods=truth(row[13]),
    )
    head = Head(tenant_id=text(row[1]), state=state, correlation_id=text(row[2]))
    return uuid(row[0]), head


def _columns(change: Change, meta: Meta) -> Columns:
    return folded(change.state) | {
        "stream_id": change.ref.id,
        "tenant_id": change.tenant_id,
        "correlation_id": meta.correlation_id,
    }


ORDERS: Final = HeadTable(
    name="orders",
    read=_READ,
    width=14,
    insert=_INSERT,
    update=_UPDATE,
    head=_head,
    columns=_columns,
)
