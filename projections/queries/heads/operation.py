"""One operation on an entitlement as it is now."""

from dataclasses import dataclass
from typing import Final
from uuid import UUID

import msgspec
from psycopg.rows import class_row

from domain.event import Instant
from projections.connections import Lend

# By their keys alone, each for an index of its own.
_OPERATION: Final = """
SELECT o.stream_id, o.entitlement_id, o.operation, o.state, o.code, o.desired_version,
       o.effective_at, o.attempts, o.parked_cause, o.covered_by, o.version,
       born.recorded_at AS created_at, last.position,
       coalesce(
           (SELECT j.stream_id FROM counterfoil.jobs j
             WHERE j.tenant_id = o.tenant_id
               AND j.unique_key = 'fulfillment:' || o.stream_id),
           (SELECT d.stream_id FROM counterfoil.jobs_dead d
             WHERE d.tenant_id = o.tenant_id
               AND d.unique_key = 'fulfillment:' || o.stream_id
             ORDER BY d.stream_id DESC
             LIMIT 1)) AS job_id
  FROM counterfoil.operations o
  JOIN counterfoil.events born ON born.stream_id = o.stream_id AND born.version = 1
  JOIN counterfoil.events last ON last.stream_id = o.stream_id
                              AND last.version = o.version
 WHERE o.tenant_id = %(tenant)s
   AND o.stream_id = %(id)s
"""


class OperationRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One operation."""

    stream_id: UUID
    entitlement_id: UUID
    operation: str
    state: str
    code: str | None
    desired_version: int
    effective_at: Instant
    attempts: int
    parked_cause: str | None
    covered_by: UUID | None
    version: int
    created_at: Instant
    position: int
    """A reader at this position sees it as it is here."""
    job_id: UUID | None
    """Carries it out; None: it has succeeded."""


@dataclass(frozen=True, slots=True)
class FindOperation:
    """Finds one operation of a tenant."""

    lend: Lend

    def __call__(self, tenant_id: str, operation: UUID) -> OperationRecord | None:
        """Return the operation that has that id, or None."""
        with (
            self.lend() as connection,
            connection.cursor(row_factory=class_row(OperationRecord)) as cursor,
        ):
            asked = {"tenant": tenant_id, "id": operation}
            return cursor.execute(_OPERATION, asked).fetchone()
