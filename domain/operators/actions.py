"""What people do, by the names under which the audit keeps it (a storage contract).

The names with `panel` are the earlier product's; whichever surface an action came
by, it has the same name.  Others are a thing and a past participle.
"""

from typing import Final

FULFILLMENT_RETRIED: Final = "panel.fulfillment.retried"
FULFILLMENT_CANCELLED: Final = "panel.fulfillment.cancelled"
OPERATION_REQUESTED: Final = "operation.requested"
"""Of an entitlement: which one, says what came after."""

JOB_RETRIED: Final = "job.retried"
JOB_CANCELLED: Final = "job.cancelled"
JOB_SNOOZED: Final = "job.snoozed"

DELIVERY_CANCELLED: Final = "panel.goods.delivery_cancelled"
DELIVERY_RETRIED: Final = "goods.delivery_retried"
DELIVERY_RECONCILED: Final = "goods.delivery_reconciled"
REVIEW_RESOLVED: Final = "panel.goods.review_resolved"
REVIEW_PROPOSED: Final = "goods.review_proposed"
"""Another person has to agree."""
EVIDENCE_ADDED: Final = "goods.evidence_added"
EVIDENCE_VIEWED: Final = "goods.evidence_viewed"

LETTER_ACKNOWLEDGED: Final = "dead_letter.acknowledged"
LETTER_DISMISSED: Final = "dead_letter.dismissed"

MAINTENANCE_OPENED: Final = "maintenance.opened"
MAINTENANCE_CLOSED: Final = "maintenance.closed"

PROJECTION_PAUSED: Final = "projection.paused"
PROJECTION_RESUMED: Final = "projection.resumed"
PROJECTION_REBUILT: Final = "projection.rebuilt"

QUEUE_PAUSED: Final = "queue.paused"
QUEUE_RESUMED: Final = "queue.resumed"
QUEUE_LIMITED: Final = "queue.limited"
WORKER_DRAINED: Final = "worker.drained"

BULK_REQUESTED: Final = "bulk.requested"
BULK_APPROVED: Final = "bulk.approved"
BULK_STARTED: Final = "bulk.started"
BULK_PAUSED: Final = "bulk.paused"
BULK_RESUMED: Final = "bulk.resumed"
BULK_CANCELLED: Final = "bulk.cancelled"

CALLBACK_REPLAYED: Final = "panel.webhook.replayed"

PROVIDER_CONFIGURED: Final = "provider.configured"
PROVIDER_ENABLED: Final = "provider.enabled"
PROVIDER_DISABLED: Final = "provider.disabled"
PROVIDER_LIMITED: Final = "provider.limited"
CREDENTIAL_SET: Final = "credential.set"
CREDENTIAL_ROTATED: Final = "credential.rotated"
CREDENTIAL_RESEALED: Final = "credential.resealed"

GUARD_ENGAGED: Final = "restore_guard.engaged"
GUARD_RELEASED: Final = "restore_guard.released"

TOKEN_CREATED: Final = "token.created"  # noqa: S105 - a name
TOKEN_ROTATED: Final = "token.rotated"  # noqa: S105 - a name
TOKEN_REVOKED: Final = "token.revoked"  # noqa: S105 - a name

PERSON_CREATED: Final = "person.created"
PERSON_ROLE_CHANGED: Final = "person.role_changed"
PERSON_DISABLED: Final = "person.disabled"
PERSON_ENABLED: Final = "person.enabled"
PERSON_PASSWORD_SET: Final = "person.password_set"  # noqa: S105 - a name
SESSION_BEGAN: Final = "session.began"
SESSION_ENDED: Final = "session.ended"

SYSTEM: Final = "system"
FINANCIAL: Final = "financial"
CATEGORIES: Final = (SYSTEM, FINANCIAL)

_OF_MONEY: Final = frozenset(
    {
        DELIVERY_CANCELLED,
        DELIVERY_RETRIED,
        DELIVERY_RECONCILED,
        REVIEW_RESOLVED,
        REVIEW_PROPOSED,
        EVIDENCE_ADDED,
        EVIDENCE_VIEWED,
        CALLBACK_REPLAYED,
        PROVIDER_CONFIGURED,
        PROVIDER_ENABLED,
        PROVIDER_DISABLED,
        PROVIDER_LIMITED,
        CREDENTIAL_SET,
        CREDENTIAL_ROTATED,
        CREDENTIAL_RESEALED,
        GUARD_ENGAGED,
        GUARD_RELEASED,
        "order.settled",
        "order.refunded",
    }
)
"""What buys, pays, or decides whether something was bought."""


def category_of(action: str) -> str:
    """Return whether an action is about money, or about the system."""
    return FINANCIAL if action in _OF_MONEY else SYSTEM
