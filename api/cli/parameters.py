"""What an operation shall change, as options of the command line."""

from collections.abc import Callable, Mapping
from typing import Final

import rich_click as click

from api.cli.options import option
from domain.event import JsonObject

_UNLIMITED: Final = "unlimited"


def parameters(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that say what an operation shall change."""
    for one in reversed(_OPTIONS):
        function = one(function)
    return function


def _limit(
    _context: click.Context, _parameter: click.Parameter, text: str | None
) -> int | str | None:
    if text is None or text == _UNLIMITED:
        return text
    try:
        return int(text)
    except ValueError as error:
        rule = f"{text!r} is neither a number nor {_UNLIMITED}"
        raise click.BadParameter(rule) from error


def _squads(
    _context: click.Context, _parameter: click.Parameter, squads: tuple[str, ...]
) -> list[str] | None:
    return list(squads) or None


_OPTIONS: Final = (
    option(
        "--ends-at",
        "endsAt",
        metavar="INSTANT",
        help="Of `extend`, such as 2030-01-31T12:00:00Z.",
    ),
    option(
        "--traffic-bytes",
        "trafficBytes",
        metavar="N|unlimited",
        callback=_limit,
        help="Of `set_limits`.",
    ),
    option(
        "--device-limit",
        "deviceLimit",
        metavar="N|unlimited",
        callback=_limit,
        help="Of `set_limits`.",
    ),
    option(
        "--squad",
        "squadIds",
        multiple=True,
        callback=_squads,
        metavar="UUID",
        help="Of `set_squads`, once for each squad; they replace those of now.",
    ),
    option("--no-squads", "none", is_flag=True, help="Of `set_squads`: none at all."),
)


def named(given: Mapping[str, object]) -> JsonObject:
    """Return the members of a request that the options of `parameters` say.

    Raises:
        UsageError: two options contradict each other.
    """
    members: JsonObject = {}
    if given["none"] and given["squadIds"] is not None:
        rule = "--no-squads and --squad contradict each other: give one of them"
        raise click.UsageError(rule)
    if given["none"]:
        members["squadIds"] = []
    for name in ("endsAt", "trafficBytes", "deviceLimit", "squadIds"):
        value = given[name]
        if value is not None:
            members[name] = None if value == _UNLIMITED else value
    return members
