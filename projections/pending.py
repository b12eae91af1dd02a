"""How full it is: the pending jobs of the fullest tenants beside their limits."""

from dataclasses import dataclass
from typing import Final

import msgspec
from psycopg.rows import class_row

from domain.event import Instant
from projections.connections import Lend, one_snapshot
from projections.moment import read_moment

# Without the row, which somebody may have deleted, intake has no limits.
_LIMITS: Final = """
SELECT coalesce(max(max_pending), 0), coalesce(max(max_tenant_pending), 0)
  FROM counterfoil.limits
"""

_IN_ALL: Final = """
SELECT count(*) AS pending, count(*) FILTER (WHERE state = 'running') AS running
  FROM counterfoil.jobs
"""

_TENANTS: Final = """
SELECT tenant_id AS tenant,
       count(*) AS pending,
       count(*) FILTER (WHERE state = 'running') AS running
  FROM counterfoil.jobs
 WHERE %(tenant)s::text IS NULL OR tenant_id = %(tenant)s
 GROUP BY tenant_id
 ORDER BY 2 DESC, 1
 LIMIT %(limit)s
"""


class TenantPending(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The unfinished jobs of one tenant, waiting for whatever or running."""

    tenant: str
    pending: int
    running: int


class PendingPage(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The limits, and how full it is at the moment that is shown."""

    now: Instant
    max_pending: int
    """Of all tenants; 0: no limit."""
    max_tenant_pending: int
    """0: no limit."""
    pending: int
    running: int
    tenants: tuple[TenantPending, ...]
    """The fullest first."""


@dataclass(frozen=True, slots=True)
class Pending:
    """Tells limits and what is pending."""

    lend: Lend

    def __call__(self, tenant: str | None = None, limit: int = 20) -> PendingPage:
        """Return the fullest tenants, or the one that is named."""
        asked = {"tenant": tenant, "limit": limit}
        with one_snapshot(self.lend) as connection:
            ((in_all, per_tenant),) = connection.execute(_LIMITS).fetchall()
            ((pending, running),) = connection.execute(_IN_ALL).fetchall()
            with connection.cursor(row_factory=class_row(TenantPending)) as cursor:
                tenants = tuple(cursor.execute(_TENANTS, asked).fetchall())
            moment = read_moment(connection)
        return PendingPage(
            now=moment.now,
            max_pending=in_all,
            max_tenant_pending=per_tenant,
            pending=pending,
            running=running,
            tenants=tenants,
        )
