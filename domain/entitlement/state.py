"""One customer's access: what is owed, what will be, and what the panel showed."""

from datetime import UTC, datetime, timedelta
from enum import StrEnum

import msgspec

from domain.event import Instant
from domain.stream import State

_LAST = datetime.max.replace(tzinfo=UTC)
"""Where the calendar ends: a year of grace behind the last end would go beyond it."""


class Desired(msgspec.Struct, frozen=True, kw_only=True):
    """What the customer is owed; the panel is made to show this."""

    ends_at: Instant
    grace_seconds: int = 0
    """Added to `ends_at` to obtain the expiry that is pushed to the panel."""
    traffic_bytes: int | None = None
    """None: unlimited, which the panel spells 0."""
    device_limit: int | None = None
    """None: unlimited, which the panel spells 0; a limit of 0 does not exist."""
    squad_ids: tuple[str, ...] = ()
    reset_traffic: bool = False

    @property
    def remote_expire_at(self) -> datetime:
        """The expiry that the panel shows, truncated to its milliseconds."""
        grace = timedelta(seconds=self.grace_seconds)
        return truncated_to_ms(self.ends_at + min(grace, _LAST - self.ends_at))


class Upcoming(msgspec.Struct, frozen=True, kw_only=True):
    """What a settlement has changed for later: in force once its time has come."""

    version: int
    """The desired version that the settlement has made."""
    desired: Desired
    effective_at: Instant
    paid_at: Instant


class Observed(msgspec.Struct, frozen=True, kw_only=True):
    """What the panel answered: identity, status, expiry and limits, no secrets."""

    panel_user_id: int
    status: str
    expire_at: Instant
    traffic_limit_bytes: int
    device_limit: int | None
    squads: int
    """How many squads the user is in."""


class Sight(msgspec.Struct, frozen=True):
    """A panel user as it was seen: what goes on record, and the squads by name."""

    observed: Observed
    squad_ids: tuple[str, ...]
    """Lower case, sorted, each once."""


type Told = dict[str, bool | int | str | None] | tuple[str, ...] | str
"""One side of a drift as it is stored: `{"value": …}`, squads, or a status."""


class Drift(msgspec.Struct, frozen=True):
    """One way in which the panel shows something else than what is owed."""

    kind: str
    """See `domain.entitlement.drift`; an entitlement has one of a kind at most."""
    expected: Told
    observed: Told


class Stage(StrEnum):
    """Where an entitlement is in its life; the stored words."""

    UNBORN = "unborn"
    LIVE = "live"


class Entitlement(State, frozen=True, kw_only=True):
    """What the rules remember of one entitlement; the head's folded columns."""

    stage: Stage = Stage.UNBORN
    customer_id: str = ""
    slot: int = 1
    username: str = ""
    legacy_username: str | None = None
    desired: Desired | None = None
    """In force, unless an upcoming one has come: ask `timeline.in_force`."""
    desired_version: int = 0
    paid_at: Instant | None = None
    observed: Observed | None = None
    upcoming: tuple[Upcoming, ...] = ()
    """By rising version; the last one is what days add to."""
    paused_at: Instant | None = None
    """Since when the pause is not yet added to the ends; None: not paused."""
    disabled_version: int | None = None
    """The desired version that disabled the access; None: it is not disabled."""
    drifts: tuple[Drift, ...] = ()
    """Those that are open."""

    @property
    def is_unreadable(self) -> bool:
        """Whether its head holds what nobody can read: it takes no command then."""
        return self.stage is Stage.LIVE and self.desired is None

    @property
    def is_disabled(self) -> bool:
        """Whether a person or a refund has ended the access."""
        return self.disabled_version is not None


def truncated_to_ms(instant: datetime) -> datetime:
    """Return `instant` as the panel stores it: truncated, not rounded, to ms."""
    return instant.replace(microsecond=instant.microsecond // 1000 * 1000)
