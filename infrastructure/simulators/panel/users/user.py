"""A panel user: its stored state, and how the panel shows it.

    (created) ──► ACTIVE ◄──enable, raise──► LIMITED
                  │  ▲  └──disable──► DISABLED ──enable──► ACTIVE
       expire pass│  │later expireAt, enable
                  ▼  │
                 EXPIRED ◄──expire pass── LIMITED

`disable` works from every state; the expire pass never touches DISABLED.
"""

import secrets
import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, cast

from infrastructure.simulators.panel.users.device import Device
from infrastructure.simulators.panel.users.timestamps import (
    format_optional,
    format_timestamp,
)

type Status = Literal["ACTIVE", "DISABLED", "LIMITED", "EXPIRED"]

STATUSES: tuple[Status, ...] = ("ACTIVE", "DISABLED", "LIMITED", "EXPIRED")
STRATEGIES = ("NO_RESET", "DAY", "WEEK", "MONTH", "MONTH_ROLLING")


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """One user as the panel stores it; instants are milliseconds since 1970."""

    id: int
    username: str
    expire_at: int
    created_at: int
    updated_at: int
    short_uuid: str
    trojan_password: str
    vless_uuid: str
    ss_password: str
    status: Status = "ACTIVE"
    traffic_limit_bytes: int = 0
    traffic_limit_strategy: str = "NO_RESET"
    hwid_device_limit: int | None = None
    squads: tuple[str, ...] = ()
    telegram_id: int | None = None
    email: str | None = None
    description: str | None = None
    tag: str | None = None
    last_triggered_threshold: int = 0
    sub_revoked_at: int | None = None
    last_traffic_reset_at: int | None = None
    used_traffic_bytes: int = 0
    lifetime_used_traffic_bytes: int = 0
    devices: tuple[Device, ...] = ()
    """In the order of their first visit; not part of what `shown` answers."""

    def shown(self, squad_names: Mapping[str, str]) -> dict[str, object]:
        """Return the 24 keys of the panel's answer."""
        return {
            "id": self.id,
            "shortUuid": self.short_uuid,
            "username": self.username,
            "status": self.status,
            "trafficLimitBytes": self.traffic_limit_bytes,
            "trafficLimitStrategy": self.traffic_limit_strategy,
            "expireAt": format_timestamp(self.expire_at),
            "telegramId": self.telegram_id,
            "email": self.email,
            "description": self.description,
            "tag": self.tag,
            "hwidDeviceLimit": self.hwid_device_limit,
            "externalSquadUuid": None,
            "trojanPassword": self.trojan_password,
            "vlessUuid": self.vless_uuid,
            "ssPassword": self.ss_password,
            "lastTriggeredThreshold": self.last_triggered_threshold,
            "subRevokedAt": format_optional(self.sub_revoked_at),
            "lastTrafficResetAt": format_optional(self.last_traffic_reset_at),
            "createdAt": format_timestamp(self.created_at),
            "updatedAt": format_timestamp(self.updated_at),
            "subscriptionUrl": f"https://sub.panel.invalid/{self.short_uuid}",
            "activeInternalSquads": [
                {"uuid": squad, "name": squad_names.get(squad, "")}
                for squad in self.squads
            ],
            "userTraffic": {
                "usedTrafficBytes": self.used_traffic_bytes,
                "lifetimeUsedTrafficBytes": self.lifetime_used_traffic_bytes,
                "onlineAt": None,
                "firstConnectedAt": None,
                "lastConnectedNodeUuid": None,
            },
        }

    def sold(self) -> dict[str, object]:
        """Return what a shop sells: the part of the state that the book compares."""
        return {
            "status": self.status,
            "expireAt": format_timestamp(self.expire_at),
            "trafficLimitBytes": self.traffic_limit_bytes,
            "hwidDeviceLimit": self.hwid_device_limit,
            "activeInternalSquads": list(self.squads),
        }

    def stored(self) -> dict[str, object]:
        """Return every field, ready for JSON."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {**values, "devices": [asdict(device) for device in self.devices]}


def restored(document: Mapping[str, object]) -> User:
    """Return the user that `User.stored` wrote."""
    # The book is written by this program alone, so its shape is not checked again.
    values = cast("dict[str, Any]", dict(document))
    values["squads"] = tuple(values["squads"])
    values["devices"] = tuple(Device(**each) for each in values.get("devices", ()))
    return User(**values)


class Credentials:
    """Fresh random secrets of a user, made as the panel makes them."""

    @staticmethod
    def short_uuid() -> str:
        """Return a short id of 16 characters."""
        return secrets.token_urlsafe(12)

    @staticmethod
    def password() -> str:
        """Return a password of 24 characters."""
        return secrets.token_hex(12)

    @staticmethod
    def vless_uuid() -> str:
        """Return a random UUID."""
        return str(uuid.uuid4())
