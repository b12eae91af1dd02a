"""What a person names when asking for an operation, checked member by member.

extend          endsAt
set_limits      trafficBytes, deviceLimit: at least one; null is unlimited
set_squads      squadIds; [] takes the user out of all of them
all others      nothing
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from msgspec.structs import replace

from domain.entitlement.commands import Given
from domain.fulfillment.operations import (
    BY_OPERATORS,
    EXTEND,
    SET_LIMITS,
    SET_SQUADS,
)
from domain.members import (
    MISSING,
    Members,
    invalid,
    is_object,
    read_instant,
    read_integer,
    refuse,
    refuse_unknown,
)
from domain.order.lines import MOST_DEVICES, MOST_TRAFFIC_BYTES, read_squads

_MEMBERS: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {
        EXTEND: frozenset({"endsAt"}),
        SET_LIMITS: frozenset({"trafficBytes", "deviceLimit"}),
        SET_SQUADS: frozenset({"squadIds"}),
    }
)


def read_operation(operation: str) -> str:
    """Return the name of an operation that a person may ask for.

    Raises:
        InvalidRequestError: there is none of that name, or it is not a person's.
    """
    if operation not in BY_OPERATORS:
        known = ", ".join(BY_OPERATORS)
        refuse("unsupported_operation", "operation", f"one of {known}")
    return operation


def read_parameters(operation: str, members: object) -> Given:
    """Return what `members` say that the operation shall change.

    Raises:
        InvalidRequestError: a member is missing, unknown or wrong.
    """
    if not is_object(members):
        invalid("", "the parameters are an object")
    known = _MEMBERS.get(operation, frozenset())
    refuse_unknown(members, "", known)
    given = Given()
    for name in sorted(members):
        given = _with(given, name, members)
    if known and given == Given():
        name = min(known)
        refuse(
            "missing_member", name, f"{operation} needs {' or '.join(sorted(known))}"
        )
    return given


def _with(given: Given, name: str, members: Members) -> Given:
    match name:
        case "endsAt":
            ends_at = read_instant(members[name], name)
            return given if ends_at is None else replace(given, ends_at=ends_at)
        case "trafficBytes":
            traffic = _limit(members, name, 0, MOST_TRAFFIC_BYTES)
            return replace(given, traffic_bytes=traffic)
        case "deviceLimit":
            devices = _limit(members, name, 1, MOST_DEVICES)
            return replace(given, device_limit=devices)
        case _:
            squads = read_squads(members.get(name, MISSING), name)
            return replace(given, squad_ids=squads)


def _limit(members: Members, name: str, low: int, high: int) -> int | None:
    member = members[name]
    return None if member is None else read_integer(member, name, low, high)
