"""Which streams belong together: an order, what it owes, and the jobs that did it.

customer ─► entitlement ─► operations ─► their orders ─► jobs
order ────► its operation ─► whatever covers it ──────► jobs
      └───► its goods ────────────────────────────────► jobs
"""

from typing import Any, Final, LiteralString
from uuid import UUID

import msgspec
import psycopg
from psycopg.rows import scalar_row

from projections.why.subject import Subject

# A refund's job names its order by the shop's own id.
_SERVED: Final = """
SELECT CASE WHEN data->'args' ? 'operation_id' THEN 'operation'
            WHEN data->'args' ? 'delivery_id' THEN 'delivery'
            ELSE 'order' END,
       coalesce(data->'args'->>'operation_id', data->'args'->>'delivery_id',
                data->'args'->>'order_stream_id')
  FROM counterfoil.events
 WHERE stream_id = %(id)s
   AND version = 1
   AND data->>'kind' IN ('fulfillment', 'goods_delivery', 'goods_reconcile',
                         'order_fanout', 'order_completion')
 UNION ALL
SELECT 'order', o.stream_id::text
  FROM counterfoil.events e
  JOIN counterfoil.orders o
       ON o.tenant_id = e.tenant_id AND o.order_id = e.data->'args'->>'order_id'
 WHERE e.stream_id = %(id)s
   AND e.version = 1
   AND e.data->>'kind' = 'order_refund'
"""

# The operations of an order, and those that cover one of them, however long the chain.
_OPERATIONS: Final = """
WITH RECURSIVE involved AS (
    SELECT stream_id, covered_by
      FROM counterfoil.operations
     WHERE order_stream_id = ANY(%(orders)s)
        OR stream_id = ANY(%(operations)s)
        -- Two indexes: one of the versions, one of what moves none.
        OR (entitlement_id = ANY(%(entitlements)s) AND operation <> 'reconcile')
        OR (entitlement_id = ANY(%(entitlements)s) AND operation = 'reconcile')
     UNION
    -- OFFSET keeps it a look by key: a join may be planned as a scan of the table.
    SELECT o.stream_id, o.covered_by
      FROM involved i
     CROSS JOIN LATERAL (
        SELECT stream_id, covered_by
          FROM counterfoil.operations
         WHERE stream_id = i.covered_by
        OFFSET 0) o
)
SELECT stream_id FROM involved
"""

_ORDERS: Final = """
SELECT order_stream_id
  FROM counterfoil.operations
 WHERE order_stream_id IS NOT NULL
   AND (stream_id = ANY(%(operations)s)
        OR (entitlement_id = ANY(%(entitlements)s) AND operation <> 'reconcile'))
"""

_ORDERS_OF_GOODS: Final = """
SELECT order_stream_id
  FROM counterfoil.deliveries
 WHERE stream_id = ANY(%(deliveries)s)
"""

_DELIVERIES: Final = """
SELECT stream_id
  FROM counterfoil.deliveries
 WHERE order_stream_id = ANY(%(orders)s)
"""

# A job that has succeeded has no head: what it wrote about the operation names it.
_JOBS: Final = """
SELECT k.job_id
  FROM counterfoil.orders o
  JOIN counterfoil.external_keys k
       ON k.tenant_id = o.tenant_id
          AND k.kind IN ('order', 'refund')
          AND k.key = o.order_id
 WHERE o.stream_id = ANY(%(orders)s)
   AND k.job_id IS NOT NULL
 UNION
SELECT (e.meta->'causation'->>'job')::uuid
  FROM counterfoil.events e
 WHERE e.stream_id = ANY(%(operations)s)
   AND e.version > 1
   AND e.meta->'causation' ? 'job'
 UNION
SELECT j.stream_id
  FROM counterfoil.operations o
  JOIN counterfoil.jobs j
       ON j.tenant_id = o.tenant_id AND j.unique_key = 'fulfillment:' || o.stream_id
 WHERE o.stream_id = ANY(%(operations)s)
 UNION
SELECT d.stream_id
  FROM counterfoil.operations o
  JOIN counterfoil.jobs_dead d
       ON d.tenant_id = o.tenant_id AND d.unique_key = 'fulfillment:' || o.stream_id
 WHERE o.stream_id = ANY(%(operations)s)
 UNION
SELECT (e.meta->'causation'->>'job')::uuid
  FROM counterfoil.events e
 WHERE e.stream_id = ANY(%(deliveries)s)
   AND e.version > 1
   AND e.meta->'causation' ? 'job'
 UNION
SELECT j.stream_id
  FROM counterfoil.deliveries g
 CROSS JOIN (VALUES ('goods_delivery:'), ('goods_reconcile:')) k(kind)
  JOIN counterfoil.jobs j
       ON j.tenant_id = g.tenant_id AND j.unique_key = k.kind || g.stream_id
 WHERE g.stream_id = ANY(%(deliveries)s)
 UNION
SELECT d.stream_id
  FROM counterfoil.deliveries g
 CROSS JOIN (VALUES ('goods_delivery:'), ('goods_reconcile:')) k(kind)
  JOIN counterfoil.jobs_dead d
       ON d.tenant_id = g.tenant_id AND d.unique_key = k.kind || g.stream_id
 WHERE g.stream_id = ANY(%(deliveries)s)
"""


class Related(msgspec.Struct, frozen=True, kw_only=True):
    """The streams that a story is made of."""

    orders: list[UUID]
    entitlements: list[UUID]
    """Told whole; of other entitlements only what the jobs here did to them."""
    operations: list[UUID]
    deliveries: list[UUID]
    jobs: list[UUID]
    windows: list[UUID]
    """Of maintenance; nothing else belongs to one."""

    @property
    def streams(self) -> list[UUID]:
        """All of them."""
        return [
            *self.orders,
            *self.entitlements,
            *self.operations,
            *self.deliveries,
            *self.jobs,
            *self.windows,
        ]


def find_related(connection: psycopg.Connection[Any], subject: Subject) -> Related:
    """Return the streams around a subject."""
    roots = {
        kind: {root.stream_id for root in subject.roots if root.kind == kind}
        for kind in (
            "order",
            "entitlement",
            "operation",
            "delivery",
            "job",
            "maintenance",
        )
    }
    for job in roots["job"]:
        for kind, served in connection.execute(_SERVED, {"id": job}).fetchall():
            roots[kind].add(UUID(served))
    told: dict[str, object] = {
        "operations": list(roots["operation"]),
        "entitlements": list(roots["entitlement"]),
        "deliveries": list(roots["delivery"]),
    }
    orders = roots["order"] | _ids(connection, _ORDERS, told)
    orders |= _ids(connection, _ORDERS_OF_GOODS, told)
    told["orders"] = list(orders)
    operations = _ids(connection, _OPERATIONS, told)
    told["operations"] = list(operations)
    deliveries = roots["delivery"] | _ids(connection, _DELIVERIES, told)
    told["deliveries"] = list(deliveries)
    return Related(
        orders=sorted(orders),
        entitlements=sorted(roots["entitlement"]),
        operations=sorted(operations),
        deliveries=sorted(deliveries),
        jobs=sorted(roots["job"] | _ids(connection, _JOBS, told)),
        windows=sorted(roots["maintenance"]),
    )


def _ids(
    connection: psycopg.Connection[Any],
    statement: LiteralString,
    parameters: dict[str, object],
) -> set[UUID]:
    with connection.cursor(row_factory=scalar_row) as cursor:
        return set(cursor.execute(statement, parameters).fetchall())
