"""Heads of windows of maintenance, in `counterfoil.maintenance`."""

from typing import Final
from uuid import UUID

from application.unit import Head
from domain.event import Meta
from domain.maintenance.aggregate import MaintenanceWindow, Stage
from domain.stream import Change
from infrastructure.postgres.heads.table import (
    Columns,
    HeadTable,
    Row,
    folded,
    maybe_instant,
    number,
    text,
    uuid,
)

_COLUMNS: Final = """
SELECT stream_id, tenant_id, correlation_id, version, state, scope, source, reason,
       notice_ru, notice_en, expected_return
"""

_READ: Final = f"""
{_COLUMNS}
  FROM counterfoil.maintenance
 WHERE stream_id = ANY(%(ids)s)
"""

READ_OPEN: Final = f"""
{_COLUMNS}, opened_by, opened_at
  FROM counterfoil.maintenance
 WHERE state = 'open'
 ORDER BY scope
"""

# Without `opened_at`: the table's default reads the clock.
_INSERT: Final = """
INSERT INTO counterfoil.maintenance (
    stream_id, tenant_id, correlation_id, version, state, scope, source, reason,
    notice_ru, notice_en, expected_return, opened_by)
SELECT stream_id, tenant_id, correlation_id, version, state, scope, source, reason,
       notice_ru, notice_en, expected_return, opened_by
  FROM jsonb_populate_recordset(NULL::counterfoil.maintenance, %(rows)s::jsonb)
"""

_UPDATE: Final = """
UPDATE counterfoil.maintenance w
   SET version = r.version,
       state = r.state
  FROM jsonb_populate_recordset(NULL::counterfoil.maintenance, %(rows)s::jsonb) r
 WHERE w.stream_id = r.stream_id
   AND w.stream_id = ANY(%(ids)b::uuid[])
"""


def head_of(row: Row) -> tuple[UUID, Head]:
    """Return the head of one row of `MAINTENANCE.read` or `READ_OPEN`."""
    state = MaintenanceWindow(
        version=number(row[3]),
        stage=Stage(text(row[4])),
        scope=text(row[5]),
        source=text(row[6]),
        reason=text(row[7]),
        notice_ru=text(row[8]),
        notice_en=text(row[9]),
        expected_return=maybe_instant(row[10]),
    )
    head = Head(tenant_id=text(row[1]), state=state, correlation_id=text(row[2]))
    return uuid(row[0]), head


def _columns(change: Change, meta: Meta) -> Columns:
    return folded(change.state) | {
        "stream_id": change.ref.id,
        "tenant_id": change.tenant_id,
        "correlation_id": meta.correlation_id,
        "opened_by": meta.actor.id,
    }


MAINTENANCE: Final = HeadTable(
    name="maintenance",
    read=_READ,
    width=11,
    insert=_INSERT,
    update=_UPDATE,
    head=head_of,
    columns=_columns,
)
