"""The audit: everything that people did, and everything that was refused them (I9).

One row for each event whose actor is an operator.  What one action wrote has one
commit id; a refusal is an event of its own and changes nothing.
"""

from collections.abc import Collection
from typing import ClassVar, Final, get_args, override
from uuid import UUID

from msgspec import Struct

from domain.entitlement.events import EntitlementEvent
from domain.event import Event, Instant
from domain.fulfillment import events as operations
from domain.fulfillment.events import FulfillmentEvent
from domain.fulfillment.operations import BY_OPERATORS
from domain.goods import events as goods
from domain.goods.events import GoodsEvent
from domain.jobs import events as jobs
from domain.jobs.events import JobEvent
from domain.maintenance.events import MaintenanceEvent
from domain.operators.events import (
    ActionRefused,
    CallbackReplayed,
    OperatorEvent,
    ProjectionPaused,
    ProjectionPromoted,
    ProjectionResumed,
)
from domain.order.events import OrderEvent
from domain.recorded import RecordedEvent
from projections.read_models.projection import Key, Projection

_WORKERS_ALONE: Final = frozenset[type[Event]](
    {
        jobs.Claimed,
        jobs.Succeeded,
        jobs.AttemptFailed,
        jobs.Snoozed,
        jobs.Parked,
        jobs.Released,
        jobs.LeaseExpired,
        operations.AttemptStarted,
        operations.AttemptFailed,
        operations.Interrupted,
        operations.Parked,
        operations.Succeeded,
        goods.PurchaseSubmitted,
        goods.PurchaseWithdrawn,
        goods.PurchaseConfirmed,
        goods.PurchaseAccepted,
        goods.PurchaseRefused,
    }
)
"""What is written under a lease: no person can, and it is most of the log."""


def _classes(*unions: object) -> tuple[type[Event], ...]:
    """Return the events of unions; one event alone is no union."""
    return tuple(
        each
        for union in unions
        for each in get_args(union) or (union,)
        if isinstance(each, type) and each not in _WORKERS_ALONE
    )


class AuditRow(Struct, frozen=True, kw_only=True, rename="camel"):
    """One thing that a person did or was refused."""

    position: int
    stream_id: UUID
    tenant_id: str
    recorded_at: Instant
    actor_type: str
    actor_id: str
    action: str
    """The tag of what happened; of a refusal, what was asked for."""
    target: str
    """The id of the stream that changed, or `projection:<name>` or `provider:<slug>`;
    of a refusal, the target as it was given."""
    target_kind: str | None
    """None: of what is refused by its id alone, nobody looked what it is."""
    outcome: str
    """`accepted` or `refused`."""
    code: str | None
    """Why it was refused."""
    reason: str | None
    """What the person gave as the reason."""
    request_id: str | None
    correlation_id: str
    commit_id: UUID | None


class Audit(Projection[AuditRow]):
    """One row for each event of an operator."""

    name: ClassVar[str] = "audit"
    schema: ClassVar[int] = 2
    row = AuditRow
    key: ClassVar[tuple[str, ...]] = ("position",)
    events: ClassVar[Collection[type[Event]]] = _classes(
        OrderEvent.__value__,
        EntitlementEvent.__value__,
        FulfillmentEvent.__value__,
        GoodsEvent.__value__,
        JobEvent.__value__,
        MaintenanceEvent.__value__,
        OperatorEvent.__value__,
    )

    @override
    def keys(self, recorded: RecordedEvent) -> tuple[Key, ...]:
        is_person = recorded.meta.actor.type == "operator"
        return ((recorded.position,),) if is_person else ()

    @override
    def is_birth(self, recorded: RecordedEvent) -> bool:
        return True

    @override
    def fold(
        self, key: Key, row: AuditRow | None, recorded: RecordedEvent
    ) -> AuditRow | None:
        event, meta = recorded.event, recorded.meta
        refused = event if isinstance(event, ActionRefused) else None
        return AuditRow(
            position=recorded.position,
            stream_id=recorded.stream_id,
            tenant_id=recorded.tenant_id,
            recorded_at=recorded.recorded_at,
            actor_type=meta.actor.type,
            actor_id=meta.actor.id,
            action=refused.action if refused else event.tag,
            target=refused.target if refused else _target(recorded),
            target_kind=(
                _asked_about(refused) if refused else _kind(event.tag.partition(".")[0])
            ),
            outcome="refused" if refused else "accepted",
            code=refused.code if refused else None,
            reason=meta.reason,
            request_id=meta.causation.request_id,
            correlation_id=meta.correlation_id,
            commit_id=meta.commit_id,
        )


_KINDS: Final = {
    "wallet": "order",
    "addon": "order",
    "fulfillment": "operation",
    "credential": "provider",
    "goods": "delivery",
}
"""By the first word of a tag; the others say the kind themselves."""


_WITHOUT_STREAM: Final = frozenset(
    {"delivery", "maintenance", "projection", "provider", "credential", "callback"}
)
"""Kinds that a refused action names itself: `open_maintenance`."""


_OF_PROVIDERS: Final = frozenset({"provider", "credential"})
"""First words of what is about a provider of goods, and names it."""


def _target(recorded: RecordedEvent) -> str:
    match recorded.event:
        case (
            ProjectionPaused(projection=name)
            | ProjectionResumed(projection=name)
            | ProjectionPromoted(projection=name)
        ):
            return f"projection:{name}"
        case CallbackReplayed(callback=callback):
            return f"callback:{callback}"
        case event if event.tag.partition(".")[0] in _OF_PROVIDERS:
            return f"provider:{getattr(event, 'provider', '')}"
        case _:
            return str(recorded.stream_id)


def _kind(word: str) -> str:
    return _KINDS.get(word, word)


def _asked_about(refused: ActionRefused) -> str | None:
    if refused.action in BY_OPERATORS:
        return "entitlement"
    what = refused.action.partition("_")[2]
    return _kind(what) if what in _WITHOUT_STREAM else None
