"""Facts about operators, each a stream of one event (a storage contract).

The thing that was asked about is named in the data: a refusal never moves the
version of its target.
"""

from typing import ClassVar
from uuid import UUID

from domain.event import Event, JsonObject
from domain.stream import State


class ActionRefused(Event, frozen=True, kw_only=True):
    """An operator asked for something that a rule forbids (I9)."""

    tag: ClassVar[str] = "operator.action_refused"
    action: str
    """What was asked for: `retry`, `cancel`, `pause_projection` …"""
    target: str
    """The id that was given, as given, cleaned and cut."""
    code: str
    """The refusal's stable name."""


class ActionTaken(Event, frozen=True, kw_only=True):
    """Somebody asked for something, and it was done (I9): the audit's own record.

    Written in the transaction of what was done, also when it was so already.
    """

    tag: ClassVar[str] = "operator.action_taken"
    action: str
    """What was done, by a stable name: `panel.fulfillment.retried` …"""
    category: str
    """`system`, or `financial`: it is about money."""
    target_kind: str
    target: str
    """The id, or the name, of what it was done to."""
    before: JsonObject
    """What of the target the action is about, as it was: states and figures."""
    after: JsonObject


class PayloadViewed(Event, frozen=True, kw_only=True):
    """Somebody was about to see what an event holds; nothing of it is here.

    On record before it is told, so it may be of a look that never came about.
    """

    tag: ClassVar[str] = "access.payload_viewed"
    position: int
    """Of the event."""
    stream: UUID
    type: str
    """What the event says that happened."""


class ProjectionPaused(Event, frozen=True, kw_only=True):
    """The rows of a projection stay as they are until it is resumed."""

    tag: ClassVar[str] = "projection.paused"
    projection: str
    slot: str
    """Of its two tables the one that was read then."""
    position: int
    """How far its rows had followed the log."""


class ProjectionResumed(Event, frozen=True, kw_only=True):
    """A projection goes on, and what had been set aside is tried again."""

    tag: ClassVar[str] = "projection.resumed"
    projection: str
    slot: str
    position: int
    set_aside: int
    """How many events were to be tried again."""


class ProjectionPromoted(Event, frozen=True, kw_only=True):
    """A rebuilt table is read from now on."""

    tag: ClassVar[str] = "projection.promoted"
    projection: str
    schema_number: int
    """Of the code that folded it."""
    slot: str
    """The table that is read from now on."""
    position: int
    """How far its rows had followed the log when it was promoted."""


class ProviderConfigured(Event, frozen=True, kw_only=True):
    """A provider of goods is new, or is spoken to by another adapter from now on."""

    tag: ClassVar[str] = "provider.configured"
    provider: str
    """Its slug."""
    adapter: str


class ProviderEnabled(Event, frozen=True, kw_only=True):
    """Goods are bought of the provider again."""

    tag: ClassVar[str] = "provider.enabled"
    provider: str


class ProviderDisabled(Event, frozen=True, kw_only=True):
    """Nothing is bought of the provider until it is enabled."""

    tag: ClassVar[str] = "provider.disabled"
    provider: str


class CredentialSet(Event, frozen=True, kw_only=True):
    """A person gave the address and the secrets of a provider; none of them is here."""

    tag: ClassVar[str] = "credential.set"
    provider: str
    host: str
    """Of the address; the rest of it is nobody's business."""
    currency: str | None
    """Of its costs and its balance, if it has one alone."""
    key: str
    """The id of the key that seals it."""


class CredentialRotated(Event, frozen=True, kw_only=True):
    """A person gave another token for the same account of a provider."""

    tag: ClassVar[str] = "credential.rotated"
    provider: str
    key: str


class CredentialResealed(Event, frozen=True, kw_only=True):
    """The same secrets are sealed by another key."""

    tag: ClassVar[str] = "credential.resealed"
    provider: str
    key: str
    before: str
    """The id of the key that sealed them before."""


class RestoreDetected(Event, frozen=True, kw_only=True):
    """This database may be an older one than before: nothing is bought from now on."""

    tag: ClassVar[str] = "restore.detected"
    episode: int
    signs: tuple[str, ...]
    """All that speak for it by now, in this episode."""
    is_planned: bool
    """Whether a person has stopped buying for a switchover that loses nothing."""
    lost_purchases: int
    """How many purchases a host's journal holds that the log lacks."""
    position: int
    """A position that nothing committed before was behind."""


class RestoreReleased(Event, frozen=True, kw_only=True):
    """Buying goes on; this is the place from now on."""

    tag: ClassVar[str] = "restore.released"
    episode: int
    is_override: bool
    left: int
    """How many deliveries were neither reconciled nor in review."""
    position: int


class ProviderLimited(Event, frozen=True, kw_only=True):
    """A person says how much may be spent at a provider, and when it runs low."""

    tag: ClassVar[str] = "provider.limited"
    provider: str
    currency: str
    spend_limit_minor: int
    """Of one window; 0: without a limit."""
    spend_window_seconds: int
    low_balance_minor: int | None
    """Below that a person is told; None: never."""


class BalanceLow(Event, frozen=True, kw_only=True):
    """A provider holds less of the operator's money than a person has asked for.

    One for each time that it runs low, however long that lasts.
    """

    tag: ClassVar[str] = "provider.balance_low"
    provider: str
    currency: str
    balance_minor: int
    low_balance_minor: int


class CallbackReplayed(Event, frozen=True, kw_only=True):
    """A person had a callback of a provider told again."""

    tag: ClassVar[str] = "callback.replayed"
    provider: str
    callback: UUID
    before: str
    """Why nothing had followed from it."""


class CallbackContradicted(Event, frozen=True, kw_only=True):
    """A provider says that it bought what has ended otherwise here; told by it."""

    tag: ClassVar[str] = "callback.contradicted"
    provider: str
    callback: UUID
    delivery: UUID
    said: str
    """What became of the purchase, as the provider says."""


class LetterAcknowledged(Event, frozen=True, kw_only=True):
    """Somebody has seen what is dead, and will see to it."""

    tag: ClassVar[str] = "dead_letter.acknowledged"
    letter: UUID
    """The stream of what is dead."""


class LetterDismissed(Event, frozen=True, kw_only=True):
    """What is dead stays so, and nobody has to do anything about it any more."""

    tag: ClassVar[str] = "dead_letter.dismissed"
    letter: UUID


class Remark(State, frozen=True, kw_only=True):
    """The state of a stream of one event: that it exists."""


type OperatorEvent = (
    ActionRefused
    | ActionTaken
    | PayloadViewed
    | ProjectionPaused
    | ProjectionResumed
    | ProjectionPromoted
    | ProviderConfigured
    | ProviderEnabled
    | ProviderDisabled
    | CredentialSet
    | CredentialRotated
    | CredentialResealed
    | RestoreDetected
    | RestoreReleased
    | ProviderLimited
    | BalanceLow
    | CallbackReplayed
    | CallbackContradicted
    | LetterAcknowledged
    | LetterDismissed
)


def evolve(remark: Remark, event: OperatorEvent) -> Remark:
    """Return the state after `event`.  Total: history is never rejected."""
    del event
    return Remark(version=remark.version + 1)
