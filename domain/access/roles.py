"""Roles of people: each a set of permissions, by their words.

owner          all of it
administrator  all but what is an owner's: people, and overriding the bar of a review
operator       looks, retries, cancels, queues, maintenance, bulk up to 100 items
support        looks, retries and cancels one by one, changes a customer's access
finance        looks, decides reviews
auditor        looks, the audit and the events; changes nothing
viewer         looks
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from domain.access.permissions import EVERY, READS, Permission


class Role(StrEnum):
    """A person's role; the values are stored and never change."""

    OWNER = "owner"
    ADMINISTRATOR = "administrator"
    OPERATOR = "operator"
    SUPPORT = "support"
    FINANCE = "finance"
    AUDITOR = "auditor"
    VIEWER = "viewer"


_SUPPORT: Final = READS | {
    Permission.JOBS_WRITE,
    Permission.OPERATIONS_WRITE,
    Permission.DEADLETTERS_WRITE,
}
_OPERATOR: Final = _SUPPORT | {
    Permission.DELIVERIES_WRITE,
    Permission.WEBHOOKS_WRITE,
    Permission.DRIFT_WRITE,
    Permission.QUEUES_WRITE,
    Permission.MAINTENANCE_WRITE,
    Permission.BULK_WRITE,
}

GRANTS: Final[Mapping[Role, frozenset[Permission]]] = {
    Role.OWNER: EVERY,
    Role.ADMINISTRATOR: EVERY
    - {Permission.DELIVERIES_OVERRIDE, Permission.PEOPLE_WRITE},
    Role.OPERATOR: _OPERATOR,
    Role.SUPPORT: _SUPPORT,
    Role.FINANCE: READS | {Permission.DELIVERIES_DECIDE},
    Role.AUDITOR: READS | {Permission.AUDIT_READ},
    Role.VIEWER: READS,
}
"""What people of a role may do."""
