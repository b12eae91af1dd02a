"""A panel user: what we ask it to be, what the panel shows, and whether they agree."""

from datetime import UTC, datetime
from typing import Annotated, Final, Literal

import msgspec

from domain.entitlement.state import Desired, Observed, Sight, truncated_to_ms

type Status = Literal["ACTIVE", "DISABLED", "LIMITED", "EXPIRED"]

DISABLED: Final = "DISABLED"
"""The only status that is somebody's will."""

UNLIMITED: Final = 0
"""How the panel spells it, for traffic and devices; null would be its fallback."""


MOST_SQUADS: Final = 1_000
"""Of one user; an order names a hundred at most."""

type _Squad = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-fA-F-]{36}$")]
type _Bytes = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
type _Devices = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]


class Squad(msgspec.Struct, frozen=True):
    """One internal squad; of its other members we need none."""

    uuid: _Squad


class PanelUser(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The members of a panel user that we read: no links, no passwords.

    What goes on record of them is bounded here: whoever shows more is not the panel
    that we know.
    """

    id: Annotated[int, msgspec.Meta(gt=0, le=2**63 - 1)]
    username: str
    status: Status
    expire_at: Annotated[datetime, msgspec.Meta(tz=True)]
    traffic_limit_bytes: _Bytes
    hwid_device_limit: _Devices | None
    active_internal_squads: Annotated[
        tuple[Squad, ...], msgspec.Meta(max_length=MOST_SQUADS)
    ]

    def __post_init__(self) -> None:
        """Refuse an expiry that no calendar of ours holds in UTC."""
        try:
            self.expire_at.astimezone(UTC)
        except OverflowError as error:
            msg = "expireAt is beyond the calendar"
            raise ValueError(msg) from error

    @property
    def squads(self) -> frozenset[str]:
        """The ids of the squads that the user is in."""
        return frozenset(squad.uuid.lower() for squad in self.active_internal_squads)

    def observed(self) -> Observed:
        """Return what goes on record of the user."""
        return Observed(
            panel_user_id=self.id,
            status=self.status,
            expire_at=truncated_to_ms(self.expire_at.astimezone(UTC)),
            traffic_limit_bytes=self.traffic_limit_bytes,
            device_limit=self.hwid_device_limit,
            squads=len(self.squads),
        )

    def sight(self) -> Sight:
        """Return what is compared with the desired state."""
        return Sight(self.observed(), tuple(sorted(self.squads)))


class Squads(msgspec.Struct, frozen=True, rename="camel"):
    """The panel's list of internal squads."""

    internal_squads: tuple[Squad, ...]

    @property
    def ids(self) -> frozenset[str]:
        """The ids of all squads that the panel knows."""
        return frozenset(squad.uuid.lower() for squad in self.internal_squads)


class Provision(msgspec.Struct, frozen=True, kw_only=True):
    """The absolute state that is pushed, in the panel's own terms."""

    expire_at: datetime
    traffic_limit_bytes: int
    device_limit: int
    squads: tuple[str, ...]
    """Each once: the panel's database refuses a squad that is named twice."""
    is_off: bool

    @classmethod
    def of(cls, desired: Desired, *, is_off: bool) -> "Provision":
        """Return what the panel has to show for `desired`."""
        return cls(
            expire_at=desired.remote_expire_at.astimezone(UTC),
            traffic_limit_bytes=_limit(desired.traffic_bytes),
            device_limit=_limit(desired.device_limit),
            squads=tuple(dict.fromkeys(squad.lower() for squad in desired.squad_ids)),
            is_off=is_off,
        )

    def body(self, *, with_expiry: bool, **selector: str | int) -> bytes:
        """Return the JSON of a POST or PATCH; every limit is always said.

        DISABLED is said as well, so that whoever must be off has no moment of access:
        a new user is born so, an ACTIVE one becomes so, and an EXPIRED one is not
        revived by its later expiry.  ACTIVE is not: it would switch on an EXPIRED or
        LIMITED user.
        """
        members: dict[str, object] = {
            **selector,
            "trafficLimitBytes": self.traffic_limit_bytes,
            "hwidDeviceLimit": self.device_limit,
            "activeInternalSquads": self.squads,
        }
        if self.is_off:
            members["status"] = DISABLED
        if with_expiry:
            members["expireAt"] = instant(self.expire_at)
        return msgspec.json.encode(members)

    def missing_in(self, user: PanelUser, *, with_expiry: bool) -> tuple[str, ...]:
        """Return the names of the members that the user does not show as asked."""
        shown = {
            "expireAt": not with_expiry
            or truncated_to_ms(user.expire_at) == self.expire_at,
            "trafficLimitBytes": user.traffic_limit_bytes == self.traffic_limit_bytes,
            "hwidDeviceLimit": user.hwid_device_limit == self.device_limit,
            "activeInternalSquads": user.squads == frozenset(self.squads),
        }
        return tuple(name for name, is_shown in shown.items() if not is_shown)


def _limit(limit: int | None) -> int:
    return UNLIMITED if limit is None else limit


def instant(at: datetime) -> str:
    """Return the instant as the panel writes it: UTC, milliseconds, `Z`."""
    return (
        at.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"
    )
