"""Heads of entitlements, in `counterfoil.entitlements`."""

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

import msgspec

from application.unit import Head
from domain.entitlement.state import (
    Desired,
    Drift,
    Entitlement,
    Observed,
    Stage,
    Upcoming,
)
from domain.event import Meta
from domain.stream import Change
from infrastructure.postgres.heads.table import (
    Columns,
    HeadTable,
    Row,
    document,
    folded,
    maybe_instant,
    maybe_text,
    number,
    text,
    uuid,
)

_READ: Final = """
SELECT stream_id, tenant_id, version, state, customer_id, slot, username,
       legacy_username, desired::text, desired_version, paid_at, observed::text,
       upcoming::text, paused_at, disabled_version, drifts::text
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
       observed = r.observed,
       upcoming = r.upcoming,
       paused_at = r.paused_at,
       disabled_version = r.disabled_version,
       drifts = r.drifts
  FROM jsonb_populate_recordset(NULL::counterfoil.entitlements, %(rows)s::jsonb) r
 WHERE e.stream_id = r.stream_id
   AND e.stream_id = ANY(%(ids)b::uuid[])
"""

_DOCUMENTS: Final[Mapping[str, tuple[int, msgspec.json.Decoder[Any]]]] = {
    "desired": (8, msgspec.json.Decoder(Desired)),
    "observed": (11, msgspec.json.Decoder(Observed)),
    "upcoming": (12, msgspec.json.Decoder(tuple[Upcoming, ...])),
    "drifts": (15, msgspec.json.Decoder(tuple[Drift, ...])),
}
"""The columns that hold JSON: where in a row, and how they are read."""


def _documents(row: Row) -> dict[str, object]:
    """Return the JSON columns, all of them or none.

    What could be read beside something that cannot must not be acted on: an
    entitlement without a desired state takes no command.
    """
    found: dict[str, object] = {
        name: document(decoder, row[n])
        for name, (n, decoder) in _DOCUMENTS.items()
        if row[n] is not None
    }
    return {} if None in found.values() else found


def head_of(row: Row) -> tuple[UUID, Head]:
    """Return the head of one row of `ENTITLEMENTS.read`."""
    state = Entitlement(
        version=number(row[2]),
        stage=Stage(text(row[3])),
        customer_id=text(row[4]),
        slot=number(row[5]),
        username=text(row[6]),
        legacy_username=maybe_text(row[7]),
        desired_version=number(row[9]),
        paid_at=maybe_instant(row[10]),
        paused_at=maybe_instant(row[13]),
        disabled_version=None if row[14] is None else number(row[14]),
    )
    state = msgspec.structs.replace(state, **_documents(row))
    # An entitlement outlives the orders that changed it: it has no correlation.
    head = Head(tenant_id=text(row[1]), state=state, correlation_id="")
    return uuid(row[0]), head


def _columns(change: Change, _meta: Meta) -> Columns:
    columns = folded(change.state)
    # Most entitlements have none: that is NULL, and no byte of the row.
    return columns | {
        "stream_id": change.ref.id,
        "tenant_id": change.tenant_id,
        "upcoming": columns["upcoming"] or None,
        "drifts": columns["drifts"] or None,
    }


ENTITLEMENTS: Final = HeadTable(
    name="entitlements",
    read=_READ,
    width=16,
    insert=_INSERT,
    update=_UPDATE,
    head=head_of,
    columns=_columns,
)
