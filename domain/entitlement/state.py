"""Desired and observed state of a panel user, as stored in events."""

from datetime import datetime, timedelta

import msgspec

from domain.event import Instant


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
        return truncated_to_ms(self.ends_at + timedelta(seconds=self.grace_seconds))


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


def truncated_to_ms(instant: datetime) -> datetime:
    """Return `instant` as the panel stores it: truncated, not rounded, to ms."""
    return instant.replace(microsecond=instant.microsecond // 1000 * 1000)
