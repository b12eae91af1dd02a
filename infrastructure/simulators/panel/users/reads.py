"""The calls that only look: users one by one, in pages, and the panel itself."""

import math
from collections.abc import Callable
from itertools import islice
from typing import Final

from infrastructure.simulators.panel.users.answers import success
from infrastructure.simulators.panel.users.bodies import (
    INT8_MAX,
    InvalidBodyError,
    UnstorableError,
    issue,
    parse_resolve,
)
from infrastructure.simulators.panel.users.directory import Call, Directory, Result
from infrastructure.simulators.panel.users.timestamps import format_timestamp
from infrastructure.simulators.panel.users.user import STATUSES, STRATEGIES, User
from infrastructure.simulators.panel.users.values import (
    Invalid,
    Number,
    Parser,
    coerced,
    number,
    one_of,
)

VERSION: Final = "3.2.2"

_LARGEST_PAGE: Final = 1000
_STREAM_PAGE: Final = 250
_LIST_PAGE: Final = 25
_MISSING: Final = "A063"


class FractionError(Exception):
    """An id that is no integer: the panel's framework fails on it, not its code."""


def parse_id(call: Call) -> int:
    """Return the id of the path, read as JavaScript reads a number.

    Raises:
        InvalidBodyError: not a number of 1 or more.
        FractionError: 1.5.
        UnstorableError: beyond int8.
    """
    value = coerced(call.params[0])
    try:
        number(value, least=1)
    except Invalid as invalid:
        raise InvalidBodyError(issue(["id"], invalid)) from invalid
    if not isinstance(value, int):
        raise FractionError
    if value > INT8_MAX:
        raise UnstorableError
    return value


def by_id(directory: Directory, call: Call) -> Result:
    """Return one user by its id."""
    return _one(directory, call, directory.by_id.get(parse_id(call)))


def by_username(directory: Directory, call: Call) -> Result:
    """Return one user by its exact name."""
    return _one(directory, call, directory.by_username.get(call.params[0]))


def _one(directory: Directory, call: Call, user: User | None) -> Result:
    if user is None:
        return call.error(_MISSING)
    return Result(success(user.shown(directory.squads)), user, user)


def resolve(directory: Directory, call: Call) -> Result:
    """Return the three names of one user, found by one of them.

    Raises:
        InvalidBodyError: not exactly one.
    """
    name, value = parse_resolve(call.body)
    if isinstance(value, int):
        user = directory.by_id.get(value)
    elif name == "username":
        user = directory.by_username.get(value)
    else:
        user = directory.by_short_uuid.get(value)
    if user is None:
        return call.error("A025")
    document = {
        "id": user.id,
        "username": user.username,
        "shortUuid": user.short_uuid,
    }
    return Result(success(document), user, user)


def page(directory: Directory, call: Call) -> Result:
    """Return a page by offset, newest first, and the total."""
    start = _query_number(call, "start", 0, least=-math.inf)
    size = _query_number(call, "size", _LIST_PAGE, most=_LARGEST_PAGE)
    if not isinstance(start, int) or not isinstance(size, int):
        raise UnstorableError
    if not 0 <= start <= INT8_MAX - _LARGEST_PAGE:
        raise UnstorableError
    newest = islice(reversed(directory.by_id.values()), start, start + size)
    shown = [user.shown(directory.squads) for user in newest]
    return Result(success({"users": shown, "total": len(directory.by_id)}))


def stream(directory: Directory, call: Call) -> Result:
    """Return the users after a cursor, ascending, that match every filter."""
    size = _query_number(call, "size", _STREAM_PAGE, most=_LARGEST_PAGE)
    cursor = _query_number(call, "cursor", 0, least=0)
    wanted = _filters(call)
    if not isinstance(size, int) or not isinstance(cursor, int):
        raise UnstorableError
    matching = (
        user
        for user in directory.by_id.values()
        if user.id > cursor and all(fits(user) for fits in wanted)
    )
    found = list(islice(matching, size + 1))
    users, more = found[:size], len(found) > size
    document = {
        "users": [user.shown(directory.squads) for user in users],
        "nextCursor": str(users[-1].id) if more else None,
        "hasMore": more,
    }
    return Result(success(document))


def _filters(call: Call) -> list[Callable[[User], bool]]:
    query = call.query
    filters: list[Callable[[User], bool]] = []
    if "status" in query:
        status = _query_value(call, "status", one_of(*STATUSES))
        filters.append(lambda user: user.status == status)
    if "trafficLimitStrategy" in query:
        strategy = _query_value(call, "trafficLimitStrategy", one_of(*STRATEGIES))
        filters.append(lambda user: user.traffic_limit_strategy == strategy)
    if "telegramId" in query:
        telegram_id = _query_number(call, "telegramId", 0, least=0)
        if not isinstance(telegram_id, int):
            raise UnstorableError
        filters.append(lambda user: user.telegram_id == telegram_id)
    if "email" in query:
        filters.append(lambda user: user.email == query["email"])
    if "tag" in query:
        filters.append(lambda user: user.tag == query["tag"])
    if "externalSquadUuid" in query:
        filters.append(lambda _: False)  # this panel has none
    return filters


def _query_value(call: Call, name: str, parser: Parser) -> object:
    try:
        return parser(call.query[name])
    except Invalid as invalid:
        raise InvalidBodyError(issue([name], invalid)) from invalid


def _query_number(
    call: Call, name: str, default: int, *, least: float = 1, most: float = math.inf
) -> Number:
    if name not in call.query:
        return default
    value = coerced(call.query[name])
    try:
        number(value, least=least)
        if value > most:
            message = f"Too big: expected number to be <={most}"
            raise Invalid(code="too_big", message=message, maximum=most)  # noqa: TRY301
    except Invalid as invalid:
        raise InvalidBodyError(issue([name], invalid)) from invalid
    return value


def internal_squads(directory: Directory, _call: Call) -> Result:
    """Return the internal squads with their numbers of members."""
    squads: list[dict[str, object]] = [
        {
            "uuid": squad,
            "viewPosition": position,
            "name": name,
            "info": {
                "membersCount": sum(
                    squad in user.squads for user in directory.by_id.values()
                ),
                "inboundsCount": 0,
            },
            "inbounds": [],
            "createdAt": format_timestamp(0),
            "updatedAt": format_timestamp(0),
        }
        for position, (squad, name) in enumerate(directory.squads.items(), start=1)
    ]
    return Result(success({"total": len(squads), "internalSquads": squads}))


def nodes(_directory: Directory, _call: Call) -> Result:
    """Return the nodes, of which this panel has none."""
    return Result(success([]))


def metadata(_directory: Directory, _call: Call) -> Result:
    """Return the panel's version; it needs no database, so it proves no health."""
    document = {
        "version": VERSION,
        "build": {"time": format_timestamp(0), "number": "0"},
        "git": {"backend": {"commitSha": "0" * 40}},
    }
    return Result(success(document))
