"""What a user fetches with his link, and how an operator looks at it.

The link is where devices are counted: with limiting on, `hwidDeviceLimit` null means
the panel's own number, 0 means no limit, n means n devices. A refusal is a 200 with
two headers (remnawave.md 3, "meaning at the subscription endpoint").
"""

import base64
from dataclasses import replace
from http import HTTPStatus
from typing import Final

from infrastructure.simulators.panel.users.answers import (
    Answer,
    success,
    unknown_route,
)
from infrastructure.simulators.panel.users.device import Device
from infrastructure.simulators.panel.users.directory import Call, Directory, Result
from infrastructure.simulators.panel.users.reads import parse_id
from infrastructure.simulators.panel.users.timestamps import (
    MS_PER_DAY,
    format_timestamp,
)
from infrastructure.simulators.panel.users.user import User

_TEXT: Final = "text/plain; charset=utf-8"
_TOO_MANY: Final = (("x-hwid-max-devices-reached", "true"), ("x-hwid-limit", "true"))


def by_id(directory: Directory, call: Call) -> Result:
    """Return how the subscription of one user stands; `isFound` whenever it is 200."""
    user = directory.by_id.get(parse_id(call))
    if user is None:
        return call.error("A025")
    document = {
        "isFound": True,
        "user": _summary(user, call.now),
        "links": [_link(user)],
        "ssConfLinks": {},
        "subscriptionUrl": user.shown(directory.squads)["subscriptionUrl"],
    }
    return Result(success(document), user, user)


def _summary(user: User, now: int) -> dict[str, object]:
    used, lifetime = user.used_traffic_bytes, user.lifetime_used_traffic_bytes
    return {
        "shortUuid": user.short_uuid,
        "username": user.username,
        "daysLeft": max(0, (user.expire_at - now) // MS_PER_DAY),
        "trafficUsedBytes": str(used),
        "trafficLimitBytes": str(user.traffic_limit_bytes),
        "lifetimeTrafficUsedBytes": str(lifetime),
        "expiresAt": format_timestamp(user.expire_at),
        "isActive": user.status == "ACTIVE",
        "userStatus": user.status,
        "trafficLimitStrategy": user.traffic_limit_strategy,
    }


def _link(user: User) -> str:
    return f"vless://{user.vless_uuid}@node.panel.invalid:443#{user.username}"


def links(directory: Directory, call: Call) -> Result:
    """Return what a client configures itself with; it names its device in a header.

    An unknown link is answered as an unknown route; that was not observed.
    """
    user = directory.by_short_uuid.get(call.params[0])
    if user is None:
        return Result(unknown_route("GET", call.target))
    body = base64.b64encode(_link(user).encode())
    fetched = Answer(HTTPStatus.OK, body, _TEXT)
    hwid = call.headers.get("x-hwid")
    if directory.device_fallback is None or hwid is None:
        return Result(fetched, user, user)
    if any(device.hwid == hwid for device in user.devices):
        return Result(fetched, user, user)
    limit = user.hwid_device_limit
    if limit is None:
        limit = directory.device_fallback
    if 0 < limit <= len(user.devices):
        return Result(Answer(HTTPStatus.OK, b"", _TEXT, _TOO_MANY), user, user)
    device = Device(
        hwid=hwid,
        created_at=call.now,
        updated_at=call.now,
        platform=call.headers.get("x-device-os"),
        os_version=call.headers.get("x-ver-os"),
        device_model=call.headers.get("x-device-model"),
        user_agent=call.headers.get("user-agent"),
    )
    after = replace(user, devices=(*user.devices, device))
    return Result(fetched, user, after, applied=True)
