"""What may be allowed to somebody: one word for each thing that can be asked for.

Tokens are given some of these (their scopes); people have those of their role.
"""

from enum import StrEnum
from typing import Final


class Permission(StrEnum):
    """One thing that somebody may do; the values are stored and never change."""

    ORDERS_READ = "orders:read"
    ORDERS_WRITE = "orders:write"
    """Settle and refund."""
    JOBS_READ = "jobs:read"
    JOBS_WRITE = "jobs:write"
    OPERATIONS_READ = "operations:read"
    OPERATIONS_WRITE = "operations:write"
    DELIVERIES_READ = "deliveries:read"
    DELIVERIES_WRITE = "deliveries:write"
    """Ask the provider what became of a purchase."""
    DELIVERIES_DECIDE = "deliveries:decide"
    """Decide about money: reviews."""
    DELIVERIES_OVERRIDE = "deliveries:override"
    """Decide although whoever asked the provider may still be alive."""
    DEADLETTERS_WRITE = "deadletters:write"
    QUEUES_WRITE = "queues:write"
    OUTBOX_READ = "outbox:read"
    WEBHOOKS_READ = "webhooks:read"
    WEBHOOKS_WRITE = "webhooks:write"
    DRIFT_READ = "drift:read"
    DRIFT_WRITE = "drift:write"
    EVENTS_READ = "events:read"
    EVENTS_UNMASK = "events:unmask"
    """See the payload of events; each look is recorded."""
    PROJECTIONS_READ = "projections:read"
    PROJECTIONS_WRITE = "projections:write"
    AUDIT_READ = "audit:read"
    BULK_WRITE = "bulk:write"
    BULK_APPROVE = "bulk:approve"
    """Let a bulk operation of many items of somebody else begin."""
    MAINTENANCE_READ = "maintenance:read"
    MAINTENANCE_WRITE = "maintenance:write"
    TOKENS_WRITE = "tokens:write"
    PEOPLE_WRITE = "people:write"
    """Add people, and say what they may do; nobody gives more than they have."""


EVERY: Final = frozenset(Permission)
READS: Final = frozenset(
    each
    for each in Permission
    if each.value.endswith(":read") and each is not Permission.AUDIT_READ
)
"""What whoever may look at all may look at."""
