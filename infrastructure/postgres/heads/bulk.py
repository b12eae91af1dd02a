"""Heads of bulk operations, in `counterfoil.bulk_operations`."""

from collections.abc import Mapping
from typing import Final
from uuid import UUID

import msgspec

from application.bulk.progress import BulkHead
from domain.bulk.aggregate import BulkOperation, Stage
from domain.bulk.commands import Tally
from domain.event import Actor, Meta
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
    number,
    text,
    truth,
    uuid,
)

COLUMNS: Final = """
SELECT stream_id, tenant_id, correlation_id, version, state, action, parameters::text,
       filter, items_per_second, most_items, most_unapproved, requested_by::text, role,
       reason, is_frozen, items, position, verdicts::text, approved_by::text, job, code,
       created_at, n_previewed, n_done, n_refused, no_room_since
  FROM counterfoil.bulk_operations
"""

_READ: Final = f"""
{COLUMNS}
 WHERE stream_id = ANY(%(ids)s)
"""

# Without `created_at`, whose default reads the clock, and the volatile columns.
_INSERT: Final = """
INSERT INTO counterfoil.bulk_operations (
    stream_id, tenant_id, correlation_id, version, state, action, parameters, filter,
    items_per_second, most_items, most_unapproved, requested_by, role, reason,
    is_frozen, items, position, verdicts, approved_by, job, code)
SELECT stream_id, tenant_id, correlation_id, version, state, action, parameters, filter,
       items_per_second, most_items, most_unapproved, requested_by, role, reason,
       is_frozen, items, position, verdicts, approved_by, job, code
  FROM jsonb_populate_recordset(NULL::counterfoil.bulk_operations, %(rows)s::jsonb)
"""

_UPDATE: Final = """
UPDATE counterfoil.bulk_operations b
   SET version = r.version,
       state = r.state,
       is_frozen = r.is_frozen,
       items = r.items,
       position = r.position,
       verdicts = r.verdicts,
       approved_by = r.approved_by,
       job = r.job,
       code = r.code
  FROM jsonb_populate_recordset(NULL::counterfoil.bulk_operations, %(rows)s::jsonb) r
 WHERE b.stream_id = r.stream_id
   AND b.stream_id = ANY(%(ids)b::uuid[])
"""

_actor = msgspec.json.Decoder(Actor)
_parameters = msgspec.json.Decoder(dict[str, object])
_verdicts: msgspec.json.Decoder[Mapping[str, int]] = msgspec.json.Decoder(
    dict[str, int]
)


def head_of(row: Row) -> tuple[UUID, BulkHead]:
    """Return the head of one row of `COLUMNS`."""
    rate = row[8]
    state = BulkOperation(
        version=number(row[3]),
        stage=Stage(text(row[4])),
        action=text(row[5]),
        parameters=document(_parameters, row[6]) or {},
        filter=maybe_text(row[7]),
        items_per_second=rate if isinstance(rate, float) else 0.0,
        most_items=number(row[9]),
        most_unapproved=number(row[10]),
        requested_by=document(_actor, row[11]),
        role=maybe_text(row[12]),
        reason=text(row[13]),
        is_frozen=truth(row[14]),
        items=number(row[15]),
        position=number(row[16]),
        verdicts=document(_verdicts, row[17]) or {},
        approved_by=None if row[18] is None else document(_actor, row[18]),
        job=uuid(row[19]),
        code=maybe_text(row[20]),
    )
    head = BulkHead(
        tenant_id=text(row[1]),
        state=state,
        correlation_id=text(row[2]),
        created_at=instant(row[21]),
        n_previewed=number(row[22]),
        tally=Tally(done=number(row[23]), refused=number(row[24])),
        no_room_since=maybe_instant(row[25]),
    )
    return uuid(row[0]), head


def _columns(change: Change, meta: Meta) -> Columns:
    return folded(change.state) | {
        "stream_id": change.ref.id,
        "tenant_id": change.tenant_id,
        "correlation_id": meta.correlation_id,
    }


BULK: Final = HeadTable(
    name="bulk_operations",
    read=_READ,
    width=26,
    insert=_INSERT,
    update=_UPDATE,
    head=head_of,
    columns=_columns,
)
