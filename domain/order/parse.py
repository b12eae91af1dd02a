"""A settlement as a shop says it, checked member by member, its defaults filled in.

The twin of `counterfoil.accepted_settlement` in migrations/0010_orders.sql: the
same checks in the same order, so both refuse with the same code and path.
"""

import re
from typing import Final

from msgspec import UNSET, UnsetType

from domain.event import Instant
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
from domain.order.events import AddonLine, Line
from domain.order.request import SettleRequest

KINDS: Final = (
    "purchase",
    "renewal",
    "extension",
    "upgrade",
    "downgrade",
    "topup",
    "addon",
)
RESETTING: Final = frozenset({"renewal", "extension", "upgrade"})
"""Kinds that reset the customer's traffic, unless the line says otherwise."""

MOST_MINOR: Final = 2**63 - 1
MOST_SLOT: Final = 2**15 - 1
MOST_DAYS: Final = 36_500
MOST_GRACE_SECONDS: Final = 31_536_000
MOST_TRAFFIC_BYTES: Final = 2**53 - 1
"""The panel keeps numbers in JavaScript; beyond this they lose their last digits."""
MOST_DEVICES: Final = 2**31 - 1
MOST_SQUADS: Final = 100
MOST_LINES: Final = 100

_MEMBERS: Final = frozenset(
    {
        "tenant",
        "orderId",
        "customerId",
        "kind",
        "currency",
        "amountMinor",
        "discountMinor",
        "slot",
        "effectiveAt",
        "correlationId",
        "lines",
        "notify",
    }
)
_LINE_MEMBERS: Final = frozenset(
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
_CURRENCY: Final = re.compile(r"[A-Z]{3}")
_SQUAD: Final = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
)


def parse(members: object, now: Instant) -> SettleRequest:
    """Return the settlement that `members` say, or refuse it whole.

    Raises:
        InvalidRequestError: a member is missing, unknown, wrong or not supported.
    """
    if not is_object(members):
        invalid("", "the request is an object")
    refuse_unknown(members, "", _MEMBERS)
    tenant = read_text(members.get("tenant", "default"), "tenant", 64)
    order_id = read_text(members.get("orderId", MISSING), "orderId", 128)
    customer_id = read_text(members.get("customerId", MISSING), "customerId", 128)
    kind = _kind(members.get("kind", MISSING))
    currency = _currency(members.get("currency", MISSING))
    amount = _amount(members.get("amountMinor", MISSING), "amountMinor")
    discount = _amount(members.get("discountMinor", 0), "discountMinor")
    slot = read_integer(members.get("slot", 1), "slot", 1, MOST_SLOT)
    effective_at = _effective_at(members.get("effectiveAt"), kind, now)
    correlation_id = f"order:{order_id}"
    if "correlationId" in members:
        correlation_id = read_text(members["correlationId"], "correlationId", 128)
    accepted = _lines(members.get("lines", MISSING), kind)
    read_flag(members.get("notify", True), "notify")  # no part of the order
    return SettleRequest(
        tenant=tenant,
        order_id=order_id,
        customer_id=customer_id,
        kind=kind,
        currency=currency,
        amount_minor=amount,
        discount_minor=discount,
        slot=slot,
        effective_at=effective_at,
        correlation_id=correlation_id,
        lines=tuple(line for line in accepted if isinstance(line, Line)),
        addons=tuple(line for line in accepted if isinstance(line, AddonLine)),
    )


def _kind(member: object) -> str:
    kind = read_text(member, "kind", 32)
    if kind not in KINDS:
        invalid("kind", ", ".join(KINDS[:-1]) + " or " + KINDS[-1])
    return kind


def _currency(member: object) -> str:
    currency = read_text(member, "currency", 128)
    if _CURRENCY.fullmatch(currency) is None:
        invalid("currency", "three capital letters of ISO 4217")
    return currency


def _amount(member: object, path: str) -> int:
    return read_integer(member, path, 0, MOST_MINOR)


def _effective_at(member: object, kind: str, now: Instant) -> Instant | None:
    effective_at = read_instant(member, "effectiveAt")
    if kind == "addon" and effective_at is not None and effective_at > now:
        refuse("not_supported_yet", "effectiveAt", "an add-on takes effect at once")
    return effective_at


def _lines(member: object, kind: str) -> tuple[Line | AddonLine, ...]:
    """Return the lines: exactly one, of access, until goods exist; none of a topup."""
    if kind == "topup":
        if member is not MISSING and member != []:
            invalid("lines", "a topup owes nothing, so it has no lines")
        return ()
    if member is MISSING:
        refuse("missing_member", "lines", "is required")
    if not is_list(member) or not 1 <= len(member) <= MOST_LINES:
        invalid("lines", f"a list of 1 to {MOST_LINES} lines")
    accepted: tuple[Line | AddonLine, ...] = ()
    for index, line in enumerate(member):
        accepted += (_line(line, f"lines[{index}]", kind, first=not accepted),)
    return accepted


def _line(line: object, path: str, kind: str, *, first: bool) -> Line | AddonLine:
    if not is_object(line):
        invalid(path, "an object")
    what = read_text(line.get("type", MISSING), f"{path}.type", 32)
    if what == "goods":
        refuse("not_supported_yet", f"{path}.type", "goods are not sold yet")
    if what != "access":
        invalid(f"{path}.type", "access or goods")
    if not first:
        invalid(f"{path}.type", "an order has at most one access line")
    if kind == "addon":
        return _addon(line, path)
    return _access(line, path, resets=kind in RESETTING)


def _access(members: Members, path: str, *, resets: bool) -> Line:
    refuse_unknown(members, f"{path}.", _LINE_MEMBERS)
    number = read_integer(members.get("line", MISSING), f"{path}.line", 1, 2**15 - 1)
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
    refuse_unknown(members, f"{path}.", _LINE_MEMBERS)
    number = read_integer(members.get("line", MISSING), f"{path}.line", 1, 2**15 - 1)
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
