"""Heads of fulfilment operations, in `counterfoil.operations`."""

from typing import Final
from uuid import UUID

import msgspec

from application.unit import Head
from domain.entitlement.state import Desired
from domain.event import Meta
from domain.fulfillment.aggregate import FulfillmentOperation, Stage
from domain.stream import Change
from infrastructure.postgres.heads.table import (
    Columns,
    HeadTable,
    Row,
    document,
    folded,
    instant,
    maybe_instant,
    maybe_text,
    maybe_uuid,
    number,
    text,
    uuid,
)

_READ: Final = """
SELECT stream_id, tenant_id, correlation_id, version, state, entitlement_id,
       order_stream_id, operation, desired_version, desired::text, effective_at,
       idempotency_key, attempts, code, parked_cause, next_attempt_at, covered_by
  FROM counterfoil.operations
 WHERE stream_id = ANY(%(ids)s)
"""

_INSERT: Final = """
INSERT INTO counterfoil.operations
SELECT * FROM jsonb_populate_recordset(NULL::counterfoil.operations, %(rows)s::jsonb)
"""

_UPDATE: Final = """
UPDATE counterfoil.operations o
   SET version = r.version,
       state = r.state,
       attempts = r.attempts,
       code = r.code,
       parked_cause = r.parked_cause,
       next_attempt_at = r.next_attempt_at,
       covered_by = r.covered_by
  FROM jsonb_populate_recordset(NULL::counterfoil.operations, %(rows)s::jsonb) r
 WHERE o.stream_id = r.stream_id
   AND o.stream_id = ANY(%(ids)b::uuid[])
"""

_desired = msgspec.json.Decoder(Desired)


def _head(row: Row) -> tuple[UUID, Head]:
    state = FulfillmentOperation(
        version=number(row[3]),
        stage=Stage(text(row[4])),
        entitlement=uuid(row[5]),
        order=maybe_uuid(row[6]),
        operation=text(row[7]),
        desired_version=number(row[8]),
        desired=document(_desired, row[9]),
        effective_at=instant(row[10]),
        idempotency_key=text(row[11]),
        attempts=number(row[12]),
        code=maybe_text(row[13]),
        parked_cause=maybe_text(row[14]),
        next_attempt_at=maybe_instant(row[15]),
        covered_by=maybe_uuid(row[16]),
    )
    head = Head(tenant_id=text(row[1]), state=state, correlation_id=text(row[2]))
    return uuid(row[0]), head


def _columns(change: Change, meta: Meta) -> Columns:
    columns = folded(change.state)
    columns["entitlement_id"] = columns.pop("entitlement")
    columns["order_stream_id"] = columns.pop("order")
    return columns | {
        "stream_id": change.ref.id,
        "tenant_id": change.tenant_id,
        "correlation_id": meta.correlation_id,
    }


OPERATIONS: Final = HeadTable(
    name="operations",
    read=_READ,
    width=17,
    insert=_INSERT,
    update=_UPDATE,
    head=_head,
    columns=_columns,
)
