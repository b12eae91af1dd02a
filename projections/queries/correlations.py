"""By which correlations all that an order led to is found: its own, and its refund's.

Asked of heads and keys, which are never behind.
"""

from typing import Any, Final

import psycopg
from psycopg.rows import scalar_row

from domain.text import is_storable

# All that follows from a settlement has its correlation, and all that follows from
# the refund that of the job by which it was born.
_OF_ORDER: Final = """
SELECT o.correlation_id
  FROM counterfoil.orders o
 WHERE o.tenant_id = %(tenant_id)s
   AND o.order_id = %(order_id)s
 UNION
SELECT e.meta->>'correlation_id'
  FROM counterfoil.external_keys k
  JOIN counterfoil.events e ON e.stream_id = k.job_id AND e.version = 1
 WHERE k.tenant_id = %(tenant_id)s
   AND k.kind = 'refund'
   AND k.key = %(order_id)s
"""


def correlations_of(
    connection: psycopg.Connection[Any], tenant_id: str, order_id: str
) -> tuple[str, ...]:
    """Return the correlations of the shop's order; none when it was never settled."""
    if not is_storable(tenant_id + order_id):
        return ()  # PostgreSQL knows no such text
    asked = {"tenant_id": tenant_id, "order_id": order_id}
    with connection.cursor(row_factory=scalar_row) as cursor:
        return tuple(cursor.execute(_OF_ORDER, asked).fetchall())
