"""The lines of a settlement, checked member by member, their defaults filled in.

An order has at most one line of access, and as many of goods as there are.  What an
add-on does, and a renewal, an extension, an upgrade and a downgrade, is about access:
an add-on has that line alone, and the others have it with or without goods.  A
purchase may be of goods alone.

The twin of `counterfoil.accepted_lines` in migrations/0029_goods_lines.sql.
"""

import re
from typing import Final

from msgspec import UNSET, UnsetType

from domain.event import Instant
from domain.goods.events import Product
from domain.members import (
    MISSING,
    Members,
    invalid,
    is_list,
    is_object,
    read_flag,
    read_instant,
    read_integer,
    read_text,
    refuse,
    refuse_unknown,
)
from domain.order.events import AddonLine, GoodsLine, Line

RESETTING: Final = frozenset({"renewal", "extension", "upgrade"})
"""Kinds that reset the customer's traffic, unless the line says otherwise."""

MOST_DAYS: Final = 36_500
MOST_GRACE_SECONDS: Final = 31_536_000
MOST_TRAFFIC_BYTES: Final = 2**53 - 1
"""The panel keeps numbers in JavaScript; beyond this they lose their last digits."""
MOST_DEVICES: Final = 2**31 - 1
MOST_SQUADS: Final = 100
MOST_LINES: Final = 100
MOST_LINE: Final = 2**15 - 1
MOST_PIECES: Final = 10**6
MOST_PIECE_MINOR: Final = 10**12
"""Cost or price of one piece; that of all pieces fits 64 bits."""
MOST_UNITS: Final = 2**31 - 1
MOST_MONTHS: Final = 1_200

_ACCESS_MEMBERS: Final = frozenset(
    {
        "line",
        "type",
        "days",
        "endsAt",
        "graceSeconds",
        "trafficBytes",
        "deviceLimit",
        "squadIds",
        "resetTraffic",
    }
)
_GOODS_MEMBERS: Final = frozenset(
    {
        "line",
        "type",
        "provider",
        "product",
        "recipient",
        "quantity",
        "costMinor",
        "priceMinor",
    }
)
_PRODUCT_MEMBERS: Final = frozenset({"kind", "quantity", "months"})
_PROVIDER: Final = re.compile(r"[a-z][a-z0-9_-]{1,31}")
_SQUAD: Final = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
)

type PaidLines = tuple[Line | GoodsLine, ...]


def read_lines(member: object, kind: str) -> tuple[PaidLines, tuple[AddonLine, ...]]:
    """Return the lines of an order of `kind`: what is paid for, or what is changed."""
    if kind == "topup":
        if member is not MISSING and member != []:
            invalid("lines", "a topup owes nothing, so it has no lines")
        return (), ()
    if member is MISSING:
        refuse("missing_member", "lines", "is required")
    if not is_list(member) or not 1 <= len(member) <= MOST_LINES:
        invalid("lines", f"a list of 1 to {MOST_LINES} lines")
    paid: PaidLines = ()
    addons: tuple[AddonLine, ...] = ()
    numbers: set[int] = set()
    has_access = False
    for index, told in enumerate(member):
        path = f"lines[{index}]"
        line = _line(told, path, kind, has_access=has_access)
        if line.line in numbers:
            invalid(f"{path}.line", "the same line a second time")
        numbers.add(line.line)
        if isinstance(line, AddonLine):
            addons += (line,)
        else:
            paid += (line,)
        has_access = has_access or not isinstance(line, GoodsLine)
    if not has_access and kind != "purchase":
        rule = f"an order of kind {kind} has an access line"
        refuse("missing_member", "lines", rule)
    return paid, addons


def _line(
    line: object, path: str, kind: str, *, has_access: bool
) -> Line | GoodsLine | AddonLine:
    if not is_object(line):
        invalid(path, "an object")
    what = read_text(line.get("type", MISSING), f"{path}.type", 32)
    if what == "goods":
        if kind == "addon":
            rule = "an add-on changes access; goods are for an order of another kind"
            refuse("goods_in_addon", f"{path}.type", rule)
        return _goods(line, path)
    if what != "access":
        invalid(f"{path}.type", "access or goods")
    if has_access:
        invalid(f"{path}.type", "an order has at most one access line")
    if kind == "addon":
        return _addon(line, path)
    return _access(line, path, resets=kind in RESETTING)


def _goods(members: Members, path: str) -> GoodsLine:
    refuse_unknown(members, f"{path}.", _GOODS_MEMBERS)
    number = _number(members, path)
    provider = read_text(members.get("provider", MISSING), f"{path}.provider", 32)
    if _PROVIDER.fullmatch(provider) is None:
        invalid(f"{path}.provider", "a letter a-z, then 1 to 31 of a-z, 0-9, _ and -")
    product = _product(members.get("product", MISSING), f"{path}.product")
    recipient = read_text(members.get("recipient", MISSING), f"{path}.recipient", 128)
    quantity = read_integer(
        members.get("quantity", 1), f"{path}.quantity", 1, MOST_PIECES
    )
    return GoodsLine(
        line=number,
        provider=provider,
        product=product,
        recipient=recipient,
        quantity=quantity,
        cost_minor=_piece_minor(members, path, "costMinor"),
        price_minor=_piece_minor(members, path, "priceMinor"),
    )


def _product(member: object, path: str) -> Product:
    if member is MISSING:
        refuse("missing_member", path, "is required")
    if not is_object(member):
        invalid(path, "an object")
    refuse_unknown(member, f"{path}.", _PRODUCT_MEMBERS)
    return Product(
        kind=read_text(member.get("kind", MISSING), f"{path}.kind", 64),
        quantity=_nullable(member, path, "quantity", (1, MOST_UNITS)),
        months=_nullable(member, path, "months", (1, MOST_MONTHS)),
    )


def _piece_minor(members: Members, path: str, name: str) -> int:
    told = members.get(name, MISSING)
    return read_integer(told, f"{path}.{name}", 0, MOST_PIECE_MINOR)


def _number(members: Members, path: str) -> int:
    return read_integer(members.get("line", MISSING), f"{path}.line", 1, MOST_LINE)


def _access(members: Members, path: str, *, resets: bool) -> Line:
    refuse_unknown(members, f"{path}.", _ACCESS_MEMBERS)
    number = _number(members, path)
    days, ends_at = _period(members, path)
    if days is None and ends_at is None:
        refuse("missing_member", f"{path}.days", "days or endsAt is required")
    traffic_bytes = _nullable(members, path, "trafficBytes", (0, MOST_TRAFFIC_BYTES))
    device_limit = _nullable(members, path, "deviceLimit", (1, MOST_DEVICES))
    grace = members.get("graceSeconds", 0)
    return Line(
        line=number,
        days=days,
        ends_at=ends_at,
        grace_seconds=read_integer(
            grace, f"{path}.graceSeconds", 0, MOST_GRACE_SECONDS
        ),
        traffic_bytes=traffic_bytes,
        device_limit=device_limit,
        squad_ids=read_squads(members.get("squadIds", []), f"{path}.squadIds"),
        reset_traffic=read_flag(
            members.get("resetTraffic", resets), f"{path}.resetTraffic"
        ),
    )


def _addon(members: Members, path: str) -> AddonLine:
    """Return what an add-on changes; members that are not there change nothing."""
    refuse_unknown(members, f"{path}.", _ACCESS_MEMBERS)
    number = _number(members, path)
    days, ends_at = _period(members, path)
    traffic_bytes: int | UnsetType | None = UNSET
    if "trafficBytes" in members:
        bounds = (0, MOST_TRAFFIC_BYTES)
        traffic_bytes = _nullable(members, path, "trafficBytes", bounds)
    device_limit: int | UnsetType | None = UNSET
    if "deviceLimit" in members:
        device_limit = _nullable(members, path, "deviceLimit", (1, MOST_DEVICES))
    grace: int | UnsetType = UNSET
    if "graceSeconds" in members:
        told = members["graceSeconds"]
        grace = read_integer(told, f"{path}.graceSeconds", 0, MOST_GRACE_SECONDS)
    squads: tuple[str, ...] | UnsetType = UNSET
    if "squadIds" in members:
        squads = read_squads(members["squadIds"], f"{path}.squadIds")
    if read_flag(members.get("resetTraffic", False), f"{path}.resetTraffic"):
        invalid(f"{path}.resetTraffic", "an add-on never resets traffic")
    addon = AddonLine(
        line=number,
        type="access",
        days=UNSET if days is None else days,
        ends_at=UNSET if ends_at is None else ends_at,
        grace_seconds=grace,
        traffic_bytes=traffic_bytes,
        device_limit=device_limit,
        squad_ids=squads,
    )
    if addon == AddonLine(line=number, type="access"):
        refuse("missing_member", path, "an add-on says at least one thing it changes")
    return addon


def _period(members: Members, path: str) -> tuple[int | None, Instant | None]:
    """Return days or an end, at most one of the two."""
    days = _nullable(members, path, "days", (1, MOST_DAYS))
    ends_at = read_instant(members.get("endsAt"), f"{path}.endsAt")
    if days is not None and ends_at is not None:
        invalid(f"{path}.endsAt", "either days or endsAt, not both")
    return days, ends_at


def _nullable(
    members: Members, path: str, name: str, bounds: tuple[int, int]
) -> int | None:
    member = members.get(name)
    return None if member is None else read_integer(member, f"{path}.{name}", *bounds)


def read_squads(member: object, path: str) -> tuple[str, ...]:
    """Return squads in lower case, each named once."""
    if not is_list(member) or len(member) > MOST_SQUADS:
        invalid(path, f"a list of at most {MOST_SQUADS} UUIDs")
    squads: tuple[str, ...] = ()
    for index, squad in enumerate(member):
        told = squad.lower() if isinstance(squad, str) else ""
        if _SQUAD.fullmatch(told) is None:
            invalid(f"{path}[{index}]", "a UUID of RFC 9562")
        if told in squads:
            invalid(f"{path}[{index}]", "the same squad a second time")
        squads += (told,)
    return squads
