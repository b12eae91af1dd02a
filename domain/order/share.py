"""What of an order's money was paid for each of its lines.

Prices are before the order's discount, so the lines of goods share what was paid in
proportion to them; what is left was paid for the access.  It is the sum of the lines
up to each one that is rounded down, so that no unit is lost between them: goods alone
share all that was paid.  No sum of refunds exceeds it, whatever the prices say.
"""

from collections.abc import Sequence

from domain.order.events import GoodsLine, Line, Paid


def paid_minor(paid: Paid, line: GoodsLine) -> int:
    """Return what the customer paid for one line of goods of the order."""
    goods = _goods(paid.lines)
    priced = sum(map(_price, goods))
    whole = max(paid.amount_minor + paid.discount_minor, priced)
    if whole == 0:
        return 0
    before = sum(map(_price, goods[: goods.index(line)]))
    upto = before + _price(line)
    return upto * paid.amount_minor // whole - before * paid.amount_minor // whole


def paid_for_access(paid: Paid) -> int:
    """Return what the customer paid beside the goods."""
    goods = sum(paid_minor(paid, line) for line in _goods(paid.lines))
    return paid.amount_minor - goods


def share_of(paid: Paid, line: Line | GoodsLine) -> int:
    """Return what the customer paid for one line, whatever it is of."""
    return (
        paid_minor(paid, line) if isinstance(line, GoodsLine) else paid_for_access(paid)
    )


def _goods(lines: Sequence[Line | GoodsLine]) -> list[GoodsLine]:
    return [line for line in lines if isinstance(line, GoodsLine)]


def _price(line: GoodsLine) -> int:
    return line.price_minor * line.quantity
