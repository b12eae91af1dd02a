"""A settlement as a shop says it, checked member by member, its defaults filled in.

The twin of `counterfoil.accepted_settlement` in migrations/0010_orders.sql, as
domain.order.lines is of `accepted_lines`: the same checks in the same order, so both
refuse with the same code and path.
"""

import re
from typing import Final

from domain.event import Instant
from domain.members import (
    MISSING,
    invalid,
    is_object,
    read_flag,
    read_instant,
    read_integer,
    read_text,
    refuse,
    refuse_unknown,
)
from domain.order.lines import read_lines
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
MOST_MINOR: Final = 2**63 - 1
MOST_SLOT: Final = 2**15 - 1

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
_CURRENCY: Final = re.compile(r"[A-Z]{3}")


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
    lines, addons = read_lines(members.get("lines", MISSING), kind)
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
        lines=lines,
        addons=addons,
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
