"""A refund as a shop says it, checked member by member, its defaults filled in.

The twin of `counterfoil.accepted_refund` in migrations/0010_orders.sql: the same
checks in the same order, so both refuse with the same code and path.  Whether the
order is there, and has such lines, is decided by the refund's job.
"""

from typing import Final

from domain.members import (
    MISSING,
    invalid,
    is_list,
    is_object,
    read_flag,
    read_integer,
    read_sentence,
    read_text,
    refuse_unknown,
)
from domain.order.lines import MOST_LINES
from domain.order.parse import MOST_MINOR
from domain.order.request import RefundRequest

SHORTEST_REASON: Final = 3
LONGEST_REASON: Final = 400

_MEMBERS: Final = frozenset(
    {"tenant", "orderId", "lines", "amountMinor", "reason", "correlationId", "notify"}
)


def parse(members: object) -> RefundRequest:
    """Return the refund that `members` say, or refuse it whole.

    Raises:
        InvalidRequestError: a member is missing, unknown or wrong.
    """
    if not is_object(members):
        invalid("", "the request is an object")
    refuse_unknown(members, "", _MEMBERS)
    tenant = read_text(members.get("tenant", "default"), "tenant", 64)
    order_id = read_text(members.get("orderId", MISSING), "orderId", 128)
    lines = _lines(members.get("lines"))
    amount = members.get("amountMinor")
    if amount is not None:
        amount = read_integer(amount, "amountMinor", 0, MOST_MINOR)
    reason = read_sentence(
        members.get("reason", MISSING), "reason", SHORTEST_REASON, LONGEST_REASON
    )
    correlation_id = f"order:{order_id}"
    if "correlationId" in members:
        correlation_id = read_text(members["correlationId"], "correlationId", 128)
    read_flag(members.get("notify", True), "notify")  # no part of the refund
    return RefundRequest(
        tenant=tenant,
        order_id=order_id,
        lines=lines,
        amount_minor=amount,
        reason=reason,
        correlation_id=correlation_id,
    )


def _lines(member: object) -> tuple[int, ...] | None:
    if member is None:
        return None
    if not is_list(member) or not 1 <= len(member) <= MOST_LINES:
        invalid("lines", f"a list of 1 to {MOST_LINES} numbers of lines")
    lines: tuple[int, ...] = ()
    for index, line in enumerate(member):
        number = read_integer(line, f"lines[{index}]", 1, 2**15 - 1)
        if number in lines:
            invalid(f"lines[{index}]", "the same line a second time")
        lines += (number,)
    return lines
