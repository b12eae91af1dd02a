"""What of an order's money was paid for each of its lines.

Prices are before the order's discount, so the lines of goods share what was paid in
proportion to them, rounded down; what is left was paid for the access.  All shares
together are what was paid, whatever the prices say: no sum of refunds exceeds it.
"""

from collections.abc import Sequence

from domain.order.events import GoodsLine, Line, Paid


def paid_minor(paid: Paid, line: GoodsLine) -> int:
    """Return what the customer paid for one line of goods of the order."""
    priced = sum(_price(each) for each in _goods(paid.lines))
    whole = max(paid.amount_minor + paid.discount_minor, priced)
    return 0 if whole == 0 else _price(line) * paid.amount_minor // whole


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
