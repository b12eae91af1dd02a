"""The audit: everything that people did, and everything that was refused them (I9).

One row for each event whose actor is an operator.  An action is one of them, with what
it was before and after; the others that it wrote are its parts, by its commit id.  What
was written before actions were told so is a row for each event, and no part.  A refusal
is an event of its own and changes nothing.
"""

from collections.abc import Collection
from re import compile as pattern
from typing import ClassVar, Final, NamedTuple, cast, get_args, override
from uuid import UUID

from msgspec import Struct

from domain.bulk.events import BulkEvent
from domain.entitlement.events import EntitlementEvent
from domain.event import Event, Instant, JsonObject
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
    ActionTaken,
    CallbackReplayed,
    LetterAcknowledged,
    LetterDismissed,
    OperatorEvent,
    PayloadViewed,
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
    """Of an action its name; of a refusal, what was asked for; else the event's tag."""
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
    """An action and its parts have the same one."""
    role: str | None
    """Of a person who has signed in."""
    category: str | None
    """`system` or `financial`: of actions alone."""
    is_part: bool
    """Whether another row tells the action that it is part of: see `commit_id`."""
    before: JsonObject | None
    """States and figures before an action, by the kinds of what it is about."""
    after: JsonObject | None


class Audit(Projection[AuditRow]):
    """One row for each event of an operator."""

    name: ClassVar[str] = "audit"
    schema: ClassVar[int] = 3
    row = AuditRow
    key: ClassVar[tuple[str, ...]] = ("position",)
    events: ClassVar[Collection[type[Event]]] = _classes(
        OrderEvent.__value__,
        EntitlementEvent.__value__,
        FulfillmentEvent.__value__,
        GoodsEvent.__value__,
        JobEvent.__value__,
        MaintenanceEvent.__value__,
        BulkEvent.__value__,
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
        told = _told(recorded)
        return AuditRow(
            position=recorded.position,
            stream_id=recorded.stream_id,
            tenant_id=recorded.tenant_id,
            recorded_at=recorded.recorded_at,
            actor_type=meta.actor.type,
            actor_id=meta.actor.id,
            role=meta.role,
            action=told.action,
            category=event.category if isinstance(event, ActionTaken) else None,
            is_part=meta.action is not None and not isinstance(event, ActionTaken),
            target=told.target,
            target_kind=told.target_kind,
            outcome="refused" if isinstance(event, ActionRefused) else "accepted",
            code=event.code if isinstance(event, ActionRefused) else None,
            before=_shown(event.before) if isinstance(event, ActionTaken) else None,
            after=_shown(event.after) if isinstance(event, ActionTaken) else None,
            reason=meta.reason,
            request_id=meta.causation.request_id,
            correlation_id=meta.correlation_id,
            commit_id=meta.commit_id,
        )


def _shown(figures: JsonObject) -> JsonObject:
    """Return stored figures by names as JSON has them here."""
    return {_camel(name): _value(figures[name]) for name in figures}


def _value(value: object) -> object:
    if isinstance(value, dict):
        return _shown(cast("JsonObject", value))
    return value


def _camel(name: str) -> str:
    return _WORD.sub(lambda it: it[1].upper(), name)


_WORD: Final = pattern("_([a-z])")


class _Told(NamedTuple):
    action: str
    target: str
    target_kind: str | None


def _told(recorded: RecordedEvent) -> _Told:
    """Return what was done, or asked for, and of what."""
    match recorded.event:
        case ActionTaken(action=action, target=target, target_kind=kind):
            return _Told(action, target, kind)
        case ActionRefused() as event:
            return _Told(event.action, event.target, _asked_about(event))
        case event:
            kind = _kind(event.tag.partition(".")[0])
            return _Told(event.tag, _target(recorded), kind)


_KINDS: Final = {
    "wallet": "order",
    "addon": "order",
    "fulfillment": "operation",
    "credential": "provider",
    "goods": "delivery",
    "access": "event",
}
"""By the first word of a tag; the others say the kind themselves."""


_WITHOUT_STREAM: Final = frozenset(
    {
        "bulk",
        "delivery",
        "maintenance",
        "projection",
        "provider",
        "credential",
        "callback",
    }
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
        case LetterAcknowledged(letter=letter) | LetterDismissed(letter=letter):
            return str(letter)
        case CallbackReplayed(callback=callback):
            return f"callback:{callback}"
        case PayloadViewed(position=position):
            return f"event:{position}"
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
