"""The request bodies that the panel validates, and what its database refuses later.

Validation answers 400 with every issue found; what passes it but cannot be stored
(a fraction, a number beyond the column, a NUL) is the database's 500 (remnawave.md 3).
"""

from dataclasses import dataclass
from typing import Any, Final, TypedDict, cast

from infrastructure.simulators.panel.users.user import STATUSES, STRATEGIES, Status
from infrastructure.simulators.panel.users.values import (
    UNDEFINED,
    Invalid,
    Number,
    Parser,
    days,
    email,
    kind_of,
    later_than,
    not_negative,
    nullable,
    number,
    one_of,
    rfc_uuid,
    string,
    telegram_id,
    text,
    timestamp,
    uuids,
    whole,
)

_INT4_MAX: Final = 2**31 - 1
INT8_MAX: Final = 2**63 - 1

type Issue = dict[str, object]


class Changes(TypedDict, total=False):
    """Columns to write, named like the fields of `User`; absent: leave it."""

    username: str
    expire_at: int
    created_at: int
    short_uuid: str
    trojan_password: str
    vless_uuid: str
    ss_password: str
    status: Status
    traffic_limit_bytes: int
    traffic_limit_strategy: str
    hwid_device_limit: int | None
    squads: tuple[str, ...]
    telegram_id: int | None
    email: str | None
    description: str | None
    tag: str | None
    last_traffic_reset_at: int | None


class InvalidBodyError(Exception):
    """A body, path or query that validation refuses, with every issue."""

    def __init__(self, *issues: Issue) -> None:
        super().__init__("Validation failed")
        self.issues: Final = issues


class UnstorableError(Exception):
    """A value that passed validation and that the database refuses."""


def issue(path: list[str], invalid: Invalid) -> Issue:
    """Return one entry of `errors` in the panel's validation answer."""
    return {
        "code": invalid.code,
        "path": path,
        "message": invalid.message,
        **invalid.details,
    }


_SHARED: Final[dict[str, Parser]] = {
    "trafficLimitBytes": not_negative,
    "trafficLimitStrategy": one_of(*STRATEGIES),
    "activeInternalSquads": uuids,
    "telegramId": nullable(telegram_id),
    "email": nullable(email),
    "tag": nullable(text(1, 16, r"[A-Z0-9_]+")),
    "externalSquadUuid": nullable(rfc_uuid),
}


_CREATE: Final[dict[str, Parser]] = {
    "username": text(3, 36, r"[a-zA-Z0-9_-]+"),
    "expireAt": timestamp,
    "status": one_of(*STATUSES),
    "hwidDeviceLimit": whole,
    "description": string,
    "shortUuid": string,
    "trojanPassword": text(8, 32),
    "vlessUuid": rfc_uuid,
    "ssPassword": text(8, 32),
    "createdAt": timestamp,
    "lastTrafficResetAt": timestamp,
    **_SHARED,
}
_UPDATE: Final[dict[str, Parser]] = {
    "id": number,
    "username": string,
    "status": one_of("ACTIVE", "DISABLED"),
    "hwidDeviceLimit": nullable(whole),
    "description": nullable(string),
    **_SHARED,
}
_COLUMNS: Final = {
    "username": "username",
    "expireAt": "expire_at",
    "status": "status",
    "trafficLimitBytes": "traffic_limit_bytes",
    "trafficLimitStrategy": "traffic_limit_strategy",
    "hwidDeviceLimit": "hwid_device_limit",
    "activeInternalSquads": "squads",
    "telegramId": "telegram_id",
    "email": "email",
    "tag": "tag",
    "description": "description",
    "shortUuid": "short_uuid",
    "trojanPassword": "trojan_password",
    "vlessUuid": "vless_uuid",
    "ssPassword": "ss_password",
    "createdAt": "created_at",
    "lastTrafficResetAt": "last_traffic_reset_at",
}


@dataclass(frozen=True, slots=True)
class Update:
    """A validated PATCH: whom, and what."""

    id: int | None
    username: str | None
    values: dict[str, object]

    def changes(self) -> Changes:
        """Return the columns to write, None of them for a PATCH of the id alone.

        Raises:
            UnstorableError: the database refuses one.
        """
        return _columns(self.values)


def parse_create(body: object) -> Changes:
    """Return the columns of a new user; `username` and `expire_at` are there.

    Raises:
        InvalidBodyError: validation refuses it.
        UnstorableError: the database would.
    """
    return _columns(parsed(body, _CREATE, required=("username", "expireAt")))


def parse_update(body: object, now: int) -> Update:
    """Return whom a PATCH selects and what it wants.

    Raises:
        InvalidBodyError: validation refuses it; so it does an expiry in the past.
        UnstorableError: the database cannot look for that id.
    """
    values = parsed(body, {**_UPDATE, "expireAt": later_than(now)})
    wanted = cast("Number", values.pop("id", 0))
    username = cast("str | None", values.pop("username", None))
    if not wanted and not username:
        message = "At least one of username, id must be provided"
        raise InvalidBodyError(issue([], Invalid(code="custom", message=message)))
    if not isinstance(wanted, int) or abs(wanted) > INT8_MAX:
        raise UnstorableError
    return Update(wanted or None, username, values)


def parse_days(body: object) -> int:
    """Return the days of an extension.

    Raises:
        InvalidBodyError: not an integer of 1 or more.
    """
    return cast("int", parsed(body, {"days": days}, required=("days",))["days"])


def parse_resolve(body: object) -> tuple[str, int | str]:
    """Return the one field to find a user by, and its value.

    Raises:
        InvalidBodyError: not exactly one of id, shortUuid, username.
        UnstorableError: the database cannot look for that id.
    """
    fields: dict[str, Parser] = {"id": number, "shortUuid": string, "username": string}
    values = parsed(body, fields)
    if len(values) != 1:
        message = "Exactly one of id, shortUuid, username must be provided"
        raise InvalidBodyError(issue([], Invalid(code="custom", message=message)))
    [(name, value)] = values.items()
    if isinstance(value, float) or (isinstance(value, int) and value > INT8_MAX):
        raise UnstorableError
    return name, cast("int | str", value)


def parsed(
    body: object, fields: dict[str, Parser], required: tuple[str, ...] = ()
) -> dict[str, object]:
    """Return the known members, parsed; others are ignored, as the panel does."""
    if not isinstance(body, dict):
        message = f"Invalid input: expected object, received {kind_of(body)}"
        invalid = Invalid(code="invalid_type", message=message, expected="object")
        raise InvalidBodyError(issue([], invalid))
    members = cast("dict[str, object]", body)
    values: dict[str, object] = {}
    issues: list[Issue] = []
    for name, parser in fields.items():
        if name not in members and name not in required:
            continue
        try:
            values[name] = parser(members.get(name, UNDEFINED))
        except Invalid as invalid:
            issues.append(issue([name], invalid))
    if issues:
        raise InvalidBodyError(*issues)
    return values


def _columns(values: dict[str, object]) -> Changes:
    if values.get("externalSquadUuid") is not None:
        raise UnstorableError  # this panel has no external squads
    columns = {
        _COLUMNS[name]: value for name, value in values.items() if name in _COLUMNS
    }
    if not all(_fits(column, value) for column, value in columns.items()):
        raise UnstorableError
    # The parsers of the table above return what the columns hold.
    return cast("Changes", cast("Any", columns))


def _fits(column: str, value: object) -> bool:
    if isinstance(value, str):
        return "\0" not in value
    if isinstance(value, float):
        return False
    if isinstance(value, int):
        return abs(value) <= (_INT4_MAX if column == "hwid_device_limit" else INT8_MAX)
    return True
