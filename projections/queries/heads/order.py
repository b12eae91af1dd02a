"""One order as it is now: its head, what it owes, and who decides about it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, LiteralString
from uuid import UUID

import msgspec
import psycopg
from psycopg.rows import class_row

from domain.event import Instant
from domain.text import is_storable
from projections.connections import Lend, one_snapshot

_ORDER: Final = """
SELECT o.stream_id, o.order_id, o.customer_id, o.slot, o.kind, o.state, o.currency,
       o.amount_minor, o.discount_minor, o.correlation_id, o.version, k.job_id,
       r.job_id AS refund_job_id, born.recorded_at AS settled_at,
       greatest(last.position, k.position) AS position,
       (SELECT sum((e.data->>'amount_minor')::bigint)::bigint
          FROM counterfoil.events e
         WHERE e.stream_id = o.stream_id
           AND e.type = 'order.refunded') AS refunded_minor
  FROM counterfoil.orders o
  JOIN counterfoil.events born ON born.stream_id = o.stream_id AND born.version = 1
  JOIN counterfoil.events last ON last.stream_id = o.stream_id
                              AND last.version = o.version
  LEFT JOIN counterfoil.external_keys k ON k.tenant_id = o.tenant_id
                                       AND k.kind = 'order' AND k.key = o.order_id
  LEFT JOIN counterfoil.external_keys r ON r.tenant_id = o.tenant_id
                                       AND r.kind = 'refund' AND r.key = o.order_id
 WHERE o.tenant_id = %(tenant)s
"""
_BY_ORDER_ID: Final = f"{_ORDER}   AND o.order_id = %(key)s"
_BY_ID: Final = f"{_ORDER}   AND o.stream_id = %(key)s"

_OPERATIONS: Final = """
SELECT stream_id AS id, operation, NULL::integer AS line, state, code
  FROM counterfoil.operations
 WHERE order_stream_id = %(id)s
 ORDER BY stream_id
"""

_DELIVERIES: Final = """
SELECT stream_id AS id, NULL::text AS operation, line, state, code
  FROM counterfoil.deliveries
 WHERE order_stream_id = %(id)s
 ORDER BY line
"""


class Owed(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that an order owes, and where that stands."""

    id: UUID
    operation: str | None
    """Of access: what is carried to the panel; None: goods."""
    line: int | None
    """Of goods."""
    state: str
    code: str | None


class OrderRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One order."""

    stream_id: UUID
    order_id: str
    customer_id: str
    slot: int
    kind: str
    state: str
    currency: str
    amount_minor: int
    discount_minor: int
    refunded_minor: int | None
    """None: nothing went back."""
    correlation_id: str
    version: int
    job_id: UUID | None
    """Decides what is owed; None: it owes nothing."""
    refund_job_id: UUID | None
    """Decides the refund that was asked for; None: none was."""
    settled_at: Instant
    position: int
    """A reader at this position sees the order as it is here."""
    operations: tuple[Owed, ...] = ()
    deliveries: tuple[Owed, ...] = ()


@dataclass(frozen=True, slots=True)
class FindOrder:
    """Finds one order of a tenant."""

    lend: Lend

    def __call__(self, tenant_id: str, key: str | UUID) -> OrderRecord | None:
        """Return the order that has the shop's own id `key`, or our id."""
        if isinstance(key, str) and not is_storable(key):
            return None
        statement = _BY_ORDER_ID if isinstance(key, str) else _BY_ID
        with one_snapshot(self.lend) as connection:
            asked = {"tenant": tenant_id, "key": key}
            found = _rows(connection, statement, asked, OrderRecord)
            if not found:
                return None
            (order,) = found
            of = {"id": order.stream_id}
            return msgspec.structs.replace(
                order,
                operations=tuple(_rows(connection, _OPERATIONS, of, Owed)),
                deliveries=tuple(_rows(connection, _DELIVERIES, of, Owed)),
            )


def _rows[R: msgspec.Struct](
    connection: psycopg.Connection[Any],
    statement: LiteralString,
    parameters: Mapping[str, object],
    row: type[R],
) -> list[R]:
    with connection.cursor(row_factory=class_row(row)) as cursor:
        return cursor.execute(statement, parameters).fetchall()
