"""What the heads say about the streams of a story: where everything stands now."""

from typing import Any, Final, LiteralString
from uuid import UUID

import msgspec
import psycopg
from psycopg.rows import class_row

from domain.event import Instant
from projections.job_line import DEAD, LIVE, JobLine, read_lines
from projections.maintenance import COLUMNS as WINDOW_COLUMNS
from projections.maintenance import WindowLine
from projections.why.relations import Related

_ORDERS: Final = """
SELECT stream_id, order_id, customer_id, slot, kind, state, currency, amount_minor,
       fulfilled_by
  FROM counterfoil.orders
 WHERE stream_id = ANY(%(ids)s)
 ORDER BY stream_id
"""

_OPERATIONS: Final = """
SELECT stream_id, entitlement_id, order_stream_id, operation, state, desired_version,
       effective_at, attempts, code, parked_cause, covered_by
  FROM counterfoil.operations
 WHERE stream_id = ANY(%(ids)s)
 ORDER BY stream_id
"""

_DELIVERIES: Final = """
SELECT stream_id, order_stream_id, order_id, line, provider, state, standing, purchases,
       code, deferred_code, next_at, paid_minor, currency, refunded_minor
  FROM counterfoil.deliveries
 WHERE stream_id = ANY(%(ids)s)
 ORDER BY order_stream_id, line
"""

_ENTITLEMENTS: Final = """
SELECT t.stream_id, t.customer_id, t.slot, t.username, t.desired_version,
       (t.desired->>'ends_at')::timestamptz AS ends_at,
       t.observed->>'status' AS observed_status,
       (t.observed->>'expire_at')::timestamptz AS observed_expire_at,
       (t.observed->>'panel_user_id')::bigint AS panel_user_id,
       t.paused_at,
       t.disabled_version IS NOT NULL AS is_disabled,
       ARRAY(SELECT u->>'effective_at' FROM jsonb_array_elements(t.upcoming) u)
           ::timestamptz[] AS changes_at,
       ARRAY(SELECT d->>'kind' FROM jsonb_array_elements(t.drifts) d) AS drifts
  FROM counterfoil.entitlements t
 WHERE t.stream_id = ANY(%(ids)s::uuid[] || ARRAY(
           SELECT entitlement_id
             FROM counterfoil.operations
            WHERE stream_id = ANY(%(operations)s)))
 ORDER BY t.stream_id
"""

_WINDOWS: Final = f"""
{WINDOW_COLUMNS}
 WHERE stream_id = ANY(%(ids)s)
"""

_JOBS: Final = (
    "(" + LIVE + " WHERE j.stream_id = ANY(%(ids)s)) UNION ALL "
    "(" + DEAD + " WHERE d.stream_id = ANY(%(ids)s)) ORDER BY job_id"
)


class OrderHead(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Where an order stands."""

    stream_id: UUID
    order_id: str
    customer_id: str
    slot: int
    kind: str
    state: str
    currency: str
    amount_minor: int
    fulfilled_by: UUID | None


class OperationHead(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Where an operation stands."""

    stream_id: UUID
    entitlement_id: UUID
    order_stream_id: UUID | None
    operation: str
    state: str
    desired_version: int
    effective_at: Instant
    attempts: int
    code: str | None
    parked_cause: str | None
    covered_by: UUID | None


class DeliveryHead(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Where a delivery of goods stands."""

    stream_id: UUID
    order_stream_id: UUID
    order_id: str
    line: int
    provider: str
    state: str
    standing: str
    purchases: int
    code: str | None
    deferred_code: str | None
    next_at: Instant | None
    paid_minor: int
    currency: str
    refunded_minor: int | None


class EntitlementHead(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What a customer is owed, and what the panel showed last."""

    stream_id: UUID
    customer_id: str
    slot: int
    username: str
    desired_version: int
    ends_at: Instant
    observed_status: str | None
    observed_expire_at: Instant | None
    panel_user_id: int | None
    paused_at: Instant | None
    """Since when the pause is not yet added to the end; None: it is not paused."""
    is_disabled: bool
    changes_at: list[Instant]
    """When what was settled for later comes, or has come."""
    drifts: list[str]
    """The kinds in which the panel differs, as far as is known and not repaired."""


class Heads(msgspec.Struct, frozen=True, kw_only=True):
    """Where everything stands."""

    orders: tuple[OrderHead, ...]
    entitlements: tuple[EntitlementHead, ...]
    operations: tuple[OperationHead, ...]
    deliveries: tuple[DeliveryHead, ...]
    jobs: tuple[JobLine, ...]
    windows: tuple[WindowLine, ...]


def read_heads(connection: psycopg.Connection[Any], related: Related) -> Heads:
    """Return the heads of related streams; a finished job has none."""
    entitled: dict[str, object] = {
        "ids": related.entitlements,
        "operations": related.operations,
    }
    return Heads(
        orders=_rows(connection, OrderHead, _ORDERS, {"ids": related.orders}),
        entitlements=_rows(connection, EntitlementHead, _ENTITLEMENTS, entitled),
        operations=_rows(
            connection, OperationHead, _OPERATIONS, {"ids": related.operations}
        ),
        deliveries=_rows(
            connection, DeliveryHead, _DELIVERIES, {"ids": related.deliveries}
        ),
        jobs=tuple(read_lines(connection, _JOBS, {"ids": related.jobs})),
        windows=_rows(connection, WindowLine, _WINDOWS, {"ids": related.windows}),
    )


def _rows[Row](
    connection: psycopg.Connection[Any],
    kind: type[Row],
    statement: LiteralString,
    parameters: dict[str, object],
) -> tuple[Row, ...]:
    with connection.cursor(row_factory=class_row(kind)) as cursor:
        return tuple(cursor.execute(statement, parameters).fetchall())
