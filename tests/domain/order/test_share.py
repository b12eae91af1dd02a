"""What of an order's money was paid for each line."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from domain.goods.events import Product
from domain.order.events import GoodsLine, Line, Paid
from domain.order.share import paid_for_access, paid_minor

MOST = 2**63 - 1
ACCESS = Line(
    line=1,
    days=30,
    ends_at=None,
    grace_seconds=0,
    traffic_bytes=None,
    device_limit=None,
    squad_ids=(),
    reset_traffic=False,
)


def goods(number: int, price: int, quantity: int = 1) -> GoodsLine:
    return GoodsLine(
        line=number,
        provider="starshop",
        product=Product(kind="telegram_stars", quantity=50),
        recipient="anna",
        quantity=quantity,
        cost_minor=1,
        price_minor=price,
    )


def paid(amount: int, discount: int, *lines: Line | GoodsLine) -> Paid:
    return Paid(
        order_id="o",
        customer_id="c",
        slot=1,
        kind="purchase",
        currency="USD",
        amount_minor=amount,
        discount_minor=discount,
        effective_at=None,
        lines=lines,
    )


def shares(order: Paid) -> list[int]:
    lines = [line for line in order.lines if isinstance(line, GoodsLine)]
    return [paid_minor(order, line) for line in lines]


@pytest.mark.parametrize(
    ("amount", "discount", "prices", "told"),
    [
        (100, 0, [60, 40], [60, 40]),
        (90, 10, [60, 40], [54, 36]),
        (80, 20, [50], [40]),
        (100, 0, [150, 50], [75, 25]),
        (100, 0, [0], [0]),
        (0, 100, [100], [0]),
        (0, 0, [0, 0], [0, 0]),
        (0, 0, [5], [0]),
    ],
)
def test_a_line_is_paid_in_proportion_to_its_price(
    amount: int, discount: int, prices: list[int], told: list[int]
) -> None:
    lines = [goods(number, price) for number, price in enumerate(prices, 1)]

    assert shares(paid(amount, discount, *lines)) == told


def test_a_line_is_paid_for_all_of_its_pieces() -> None:
    assert shares(paid(90, 10, goods(1, 20, quantity=4), goods(2, 20))) == [72, 18]


def test_what_was_not_paid_for_goods_was_paid_for_the_access() -> None:
    order = paid(90, 10, ACCESS, goods(2, 40))

    assert (shares(order), paid_for_access(order)) == ([36], 54)


prices = st.integers(0, 10**12)
pieces = st.integers(1, 10**6)
amounts = st.integers(0, MOST) | st.integers(0, 1000)


@given(
    amount=amounts,
    discount=amounts,
    lines=st.lists(st.tuples(prices | st.integers(0, 9), pieces), max_size=6),
)
@example(amount=1, discount=0, lines=[(1, 1)] * 3)
def test_shares_are_never_more_than_what_was_paid(
    amount: int, discount: int, lines: list[tuple[int, int]]
) -> None:
    sold = [goods(number, *line) for number, line in enumerate(lines, 1)]
    order = paid(amount, discount, *sold)

    told = shares(order)

    assert sum(told) + paid_for_access(order) == amount
    assert all(share >= 0 for share in (*told, paid_for_access(order)))
    for line, share in zip(sold, told, strict=True):
        price = line.price_minor * line.quantity
        whole = max(amount + discount, sum(price * n for price, n in lines))
        assert share <= price
        assert abs(price * amount - share * whole) < max(whole, 1)


@pytest.mark.parametrize(
    ("amount", "discount", "prices", "told"),
    [
        (299, 1, [100] * 3, [99, 100, 100]),
        (2, 1, [1] * 3, [0, 1, 1]),
        (99, 0, [1] * 100, [0] + [1] * 99),
    ],
)
def test_goods_alone_lose_no_unit_between_their_lines(
    amount: int, discount: int, prices: list[int], told: list[int]
) -> None:
    lines = [goods(number, price) for number, price in enumerate(prices, 1)]

    assert shares(paid(amount, discount, *lines)) == told


@given(paid_for=amounts, lines=st.lists(st.tuples(prices, pieces), min_size=1))
def test_goods_that_cost_all_share_all_that_was_paid(
    paid_for: int, lines: list[tuple[int, int]]
) -> None:
    sold = [goods(number, *line) for number, line in enumerate(lines, 1)]
    whole = sum(price * quantity for price, quantity in lines)
    amount = min(paid_for, whole)

    assert sum(shares(paid(amount, whole - amount, *sold))) == amount


@given(amount=st.integers(0, MOST), lines=st.lists(st.tuples(prices, pieces)))
def test_goods_alone_without_a_discount_are_paid_at_their_price(
    amount: int, lines: list[tuple[int, int]]
) -> None:
    sold = [goods(number, *line) for number, line in enumerate(lines, 1)]
    whole = sum(price * quantity for price, quantity in lines)

    assert shares(paid(whole + amount, 0, *sold)) == [
        price * quantity for price, quantity in lines
    ]
