"""A device that a user's subscription was fetched with, known by its hardware id."""

from dataclasses import dataclass

from infrastructure.simulators.panel.users.timestamps import format_timestamp


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """One device as the panel stores it; instants are milliseconds since 1970."""

    hwid: str
    created_at: int
    updated_at: int
    platform: str | None = None
    os_version: str | None = None
    device_model: str | None = None
    user_agent: str | None = None

    def shown(self, user_id: int) -> dict[str, object]:
        """Return the members of the panel's answer."""
        return {
            "hwid": self.hwid,
            "userId": user_id,
            "platform": self.platform,
            "osVersion": self.os_version,
            "deviceModel": self.device_model,
            "userAgent": self.user_agent,
            "createdAt": format_timestamp(self.created_at),
            "updatedAt": format_timestamp(self.updated_at),
        }
