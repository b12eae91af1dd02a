"""Heads of deliveries of goods, in `counterfoil.deliveries`."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

import msgspec

from application.unit import Head
from domain.event import Meta
from domain.goods.events import Product
from domain.goods.state import Asking, GoodsDelivery, Proposal, Stage, Standing
from domain.stream import Change, Ref, StreamKind
from infrastructure.postgres.database import Connection
from infrastructure.postgres.heads.table import (
    Columns,
    HeadTable,
    Row,
    document,
    folded,
    maybe_instant,
    maybe_number,
    maybe_text,
    number,
    text,
    truth,
    uuid,
)

_READ: Final = """
SELECT stream_id, tenant_id, correlation_id, version, state, order_stream_id, order_id,
       customer_id, line, provider, product::text, quantity, recipient, currency,
       cost_minor, price_minor, paid_minor, purchases, decision, standing,
       withdraws_to, key, token, senders::text, deadline, expires_at, repeat_until,
       reference, failure_class, code, next_at, deferred_code, restored_at,
       is_doubtful, proposal::text, refunded_minor
  FROM counterfoil.deliveries
 WHERE stream_id = ANY(%(ids)s)
"""

_INSERT: Final = """
INSERT INTO counterfoil.deliveries
SELECT * FROM jsonb_populate_recordset(NULL::counterfoil.deliveries, %(rows)s::jsonb)
"""

_UPDATE: Final = """
UPDATE counterfoil.deliveries d
   SET version = r.version,
       state = r.state,
       purchases = r.purchases,
       decision = r.decision,
       standing = r.standing,
       withdraws_to = r.withdraws_to,
       key = r.key,
       token = r.token,
       senders = r.senders,
       deadline = r.deadline,
       expires_at = r.expires_at,
       repeat_until = r.repeat_until,
       reference = r.reference,
       failure_class = r.failure_class,
       code = r.code,
       next_at = r.next_at,
       deferred_code = r.deferred_code,
       restored_at = r.restored_at,
       is_doubtful = r.is_doubtful,
       proposal = r.proposal,
       refunded_minor = r.refunded_minor
  FROM jsonb_populate_recordset(NULL::counterfoil.deliveries, %(rows)s::jsonb) r
 WHERE d.stream_id = r.stream_id
   AND d.stream_id = ANY(%(ids)b::uuid[])
"""

_DELIVERIES_OF: Final = """
SELECT stream_id
  FROM counterfoil.deliveries
 WHERE order_stream_id = %(id)s
 ORDER BY line
"""

_product = msgspec.json.Decoder(Product)
_senders = msgspec.json.Decoder(tuple[Asking, ...])
_proposal = msgspec.json.Decoder(Proposal)


def _head(row: Row) -> tuple[UUID, Head]:
    state = GoodsDelivery(
        version=number(row[3]),
        stage=Stage(text(row[4])),
        order=uuid(row[5]),
        order_id=text(row[6]),
        customer_id=text(row[7]),
        line=number(row[8]),
        provider=text(row[9]),
        product=document(_product, row[10]),
        quantity=number(row[11]),
        recipient=text(row[12]),
        currency=text(row[13]),
        cost_minor=number(row[14]),
        price_minor=number(row[15]),
        paid_minor=number(row[16]),
        purchases=number(row[17]),
        decision=number(row[18]),
        standing=Standing(text(row[19])),
        withdraws_to=Standing(text(row[20])),
        key=maybe_text(row[21]),
        token=maybe_number(row[22]),
        # Who cannot be read may still ask: nobody counts as gone by being unreadable.
        senders=document(_senders, row[23]) or (),
        deadline=maybe_instant(row[24]),
        expires_at=maybe_instant(row[25]),
        repeat_until=maybe_instant(row[26]),
        reference=maybe_text(row[27]),
        failure_class=maybe_text(row[28]),
        code=maybe_text(row[29]),
        next_at=maybe_instant(row[30]),
        deferred_code=maybe_text(row[31]),
        restored_at=maybe_instant(row[32]),
        is_doubtful=truth(row[33]),
        proposal=None if row[34] is None else document(_proposal, row[34]),
        refunded_minor=maybe_number(row[35]),
    )
    head = Head(tenant_id=text(row[1]), state=state, correlation_id=text(row[2]))
    return uuid(row[0]), head


def _columns(change: Change, meta: Meta) -> Columns:
    columns = folded(change.state)
    columns["order_stream_id"] = columns.pop("order")
    return columns | {
        "stream_id": change.ref.id,
        "tenant_id": change.tenant_id,
        "correlation_id": meta.correlation_id,
    }


DELIVERIES: Final = HeadTable(
    name="deliveries",
    read=_READ,
    width=36,
    insert=_INSERT,
    update=_UPDATE,
    head=_head,
    columns=_columns,
)


def deliveries_of(connection: Connection, order: UUID) -> Sequence[tuple[Ref, Head]]:
    """Return the deliveries of an order, by their lines."""
    named = connection.execute(_DELIVERIES_OF, {"id": order}).fetchall()
    if not named:
        return []
    ids = [uuid(row[0]) for row in named]
    rows = connection.execute(_READ, {"ids": ids}).fetchall()
    heads = dict(_head(row) for row in rows)
    return [(Ref(StreamKind.DELIVERY, it), heads[it]) for it in ids if it in heads]
