"""The calls on a user's devices; each answers all that the user has afterwards."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final, cast

from infrastructure.simulators.panel.users.answers import success
from infrastructure.simulators.panel.users.bodies import (
    INT8_MAX,
    UnstorableError,
    parsed,
)
from infrastructure.simulators.panel.users.device import Device
from infrastructure.simulators.panel.users.directory import Call, Directory, Result
from infrastructure.simulators.panel.users.reads import parse_id
from infrastructure.simulators.panel.users.user import User
from infrastructure.simulators.panel.users.values import Number, Parser, number, string

_MISSING: Final = "A025"
_OWNER: Final[Mapping[str, Parser]] = {"userId": number}
_NAMED: Final[Mapping[str, Parser]] = {**_OWNER, "hwid": string}
_DESCRIBED: Final[Mapping[str, Parser]] = {
    **_NAMED,
    "platform": string,
    "osVersion": string,
    "deviceModel": string,
    "userAgent": string,
}


def devices(directory: Directory, call: Call) -> Result:
    """Return the devices of one user."""
    user = directory.by_id.get(parse_id(call))
    if user is None:
        return call.error(_MISSING)
    return _told(user, user, applied=False)


def add(directory: Directory, call: Call) -> Result:
    """Return the user with one more device; one that he has is refused.

    Raises:
        InvalidBodyError: 400.
        UnstorableError: 500 of the route.
    """
    values = parsed(call.body, dict(_DESCRIBED), required=tuple(_NAMED))
    user = directory.by_id.get(_user_id(values))
    if user is None:
        return call.error(_MISSING)
    texts = cast("Mapping[str, str]", values)
    if any(device.hwid == texts["hwid"] for device in user.devices):
        return call.error("A098")
    device = Device(
        hwid=texts["hwid"],
        created_at=call.now,
        updated_at=call.now,
        platform=texts.get("platform"),
        os_version=texts.get("osVersion"),
        device_model=texts.get("deviceModel"),
        user_agent=texts.get("userAgent"),
    )
    return _told(user, replace(user, devices=(*user.devices, device)))


def delete(directory: Directory, call: Call) -> Result:
    """Return the user without one of his devices.

    Raises:
        InvalidBodyError: 400.
        UnstorableError: 500 of the route.
    """
    values = parsed(call.body, dict(_NAMED), required=tuple(_NAMED))
    user = directory.by_id.get(_user_id(values))
    if user is None:
        return call.error(_MISSING)
    left = tuple(each for each in user.devices if each.hwid != values["hwid"])
    if len(left) == len(user.devices):
        return call.error("A204")
    return _told(user, replace(user, devices=left))


def delete_all(directory: Directory, call: Call) -> Result:
    """Return the user without any device, also when he had none.

    Raises:
        InvalidBodyError: 400.
        UnstorableError: 500 of the route.
    """
    values = parsed(call.body, dict(_OWNER), required=tuple(_OWNER))
    user = directory.by_id.get(_user_id(values))
    if user is None:
        return call.error(_MISSING)
    return _told(user, replace(user, devices=()))


def _user_id(values: Mapping[str, object]) -> int:
    value = cast("Number", values["userId"])
    if not isinstance(value, int) or abs(value) > INT8_MAX:
        raise UnstorableError
    return value


def _told(before: User, after: User, *, applied: bool = True) -> Result:
    document = {
        "total": len(after.devices),
        "devices": [device.shown(after.id) for device in after.devices],
    }
    return Result(success(document), before, after, applied)
