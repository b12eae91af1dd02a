"""Heads of entitlements, in `counterfoil.entitlements`."""

from typing import Final
from uuid import UUID

import msgspec

from application.unit import Head
from domain.entitlement.aggregate import Entitlement, Stage
from domain.entitlement.state import Desired, Observed
from domain.event import Meta
from domain.stream import Change
from infrastructure.postgres.heads.table import (
    Columns,
    HeadTable,
    Row,
    folded,
    maybe_instant,
    maybe_text,
    number,
    text,
    uuid,
)

_READ: Final = """
SELECT stream_id, tenant_id, version, state, customer_id, slot, username,
       legacy_username, desired::text, desired_version, paid_at, observed::text
  FROM counterfoil.entitlements
 WHERE stream_id = ANY(%(ids)s)
"""

_INSERT: Final = """
INSERT INTO counterfoil.entitlements
SELECT * FROM jsonb_populate_recordset(NULL::counterfoil.entitlements, %(rows)s::jsonb)
"""

_UPDATE: Final = """
UPDATE counterfoil.entitlements e
   SET version = r.version,
       state = r.state,
       desired = r.desired,
       desired_version = r.desired_version,
       paid_at = r.paid_at,
       observed = r.observed
  FROM jsonb_populate_recordset(NULL::counterfoil.entitlements, %(rows)s::jsonb) r
 WHERE e.stream_id = r.stream_id
   AND e.stream_id = ANY(%(ids)b::uuid[])
"""

_desired = msgspec.json.Decoder(Desired)
_observed = msgspec.json.Decoder(Observed)


def head_of(row: Row) -> tuple[UUID, Head]:
    """Return the head of one row of `ENTITLEMENTS.read`."""
    observed = maybe_text(row[11])
    state = Entitlement(
        version=number(row[2]),
        stage=Stage(text(row[3])),
        customer_id=text(row[4]),
        slot=number(row[5]),
        username=text(row[6]),
        legacy_username=maybe_text(row[7]),
        desired=_desired.decode(text(row[8])),
        desired_version=number(row[9]),
        paid_at=maybe_instant(row[10]),
        observed=None if observed is None else _observed.decode(observed),
    )
    # An entitlement outlives the orders that changed it: it has no correlation.
    head = Head(tenant_id=text(row[1]), state=state, correlation_id="")
    return uuid(row[0]), head


def _columns(change: Change, _meta: Meta) -> Columns:
    return folded(change.state) | {
        "stream_id": change.ref.id,
        "tenant_id": change.tenant_id,
    }


ENTITLEMENTS: Final = HeadTable(
    name="entitlements",
    read=_READ,
    width=12,
    insert=_INSERT,
    update=_UPDATE,
    head=head_of,
    columns=_columns,
)
