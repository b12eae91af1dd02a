"""What `GoodsProvider` promises, kept by both adapters over HTTP and by the fakes."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from application.goods.port import (
    Absent,
    Accepted,
    Balance,
    Confirmed,
    Rejected,
    Unavailable,
    Unknown,
    Unsent,
)
from domain.goods.events import Product
from tests.providers.goods.stage import KEY, Subject, purchase, subject
from tests.providers.stage import ClosingGuard, OpenGuard

ALL = ("memory", "memory blind", "fragment", "idempotent")


@pytest.fixture(params=ALL)
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Subject]:
    with subject(request.param, tmp_path) as opened:
        yield opened


@pytest.fixture(params=["memory", "idempotent"])
def keyed(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Subject]:
    with subject(request.param, tmp_path) as opened:
        yield opened


def test_one_purchase_buys_all_pieces(shop: Subject) -> None:
    guard = OpenGuard()

    answer = shop.provider.submit(purchase(quantity=3), guard)

    assert isinstance(answer, Confirmed)
    assert shop.bought() == [("ann_lee", 150)]
    assert guard.asked == 1


def test_months_are_bought_together_too(shop: Subject) -> None:
    product = Product(kind="telegram_premium", months=3)

    shop.provider.submit(purchase(product=product, quantity=2), OpenGuard())

    assert shop.bought() == [("ann_lee", 6)]


def test_a_key_is_bought_once_where_keys_are_honoured(shop: Subject) -> None:
    asked = purchase()

    answers = [shop.provider.submit(asked, OpenGuard()) for _ in range(3)]

    assert all(isinstance(answer, Confirmed) for answer in answers)
    is_honoured = shop.provider.capabilities.key_lifetime is not None
    assert len(shop.bought()) == (1 if is_honoured else 3)


def test_what_the_guard_stops_is_not_sent(shop: Subject) -> None:
    answer = shop.provider.submit(purchase(), ClosingGuard(0))

    assert isinstance(answer, Unsent)
    assert shop.bought() == []


def test_what_cannot_be_paid_is_not_bought(shop: Subject) -> None:
    shop.set_balance(99)

    answer = shop.provider.submit(purchase(), OpenGuard())

    if shop.provider.capabilities.key_lifetime is None:
        assert answer == Rejected("permanent", "gateway_rejected")
    else:
        assert answer == Unavailable("provider_balance", "insufficient_balance")
    assert shop.bought() == []


def test_a_look_up_says_what_became_of_it_and_buys_nothing(shop: Subject) -> None:
    before = shop.provider.look_up(KEY, None, OpenGuard())
    shop.provider.submit(purchase(), OpenGuard())
    after = shop.provider.look_up(KEY, None, OpenGuard())

    if shop.provider.capabilities.can_look_up:
        assert isinstance(before, Absent)
        assert isinstance(after, Confirmed)
        stopped = shop.provider.look_up(KEY, None, ClosingGuard(0))
        assert isinstance(stopped, Unsent)
    else:
        assert before == after == Unknown("poll_unsupported")
    assert len(shop.bought()) == 1


def test_a_balance_is_told_where_there_is_one(shop: Subject) -> None:
    shop.provider.submit(purchase(), OpenGuard())

    answer = shop.provider.balance(OpenGuard())

    if shop.provider.capabilities.has_balance:
        assert answer == Balance(9_900, "USD")
        assert isinstance(shop.provider.balance(ClosingGuard(0)), Unknown)
    else:
        assert answer == Unknown("balance_unsupported")


@pytest.mark.parametrize("state", ["delivered", "failed"])
def test_what_is_accepted_is_looked_up_until_it_ends(
    keyed: Subject, state: str
) -> None:
    keyed.accept_only()
    taken = keyed.provider.submit(purchase(), OpenGuard())
    assert isinstance(taken, Accepted)
    assert taken.reference
    waiting = keyed.provider.look_up(KEY, taken.reference, OpenGuard())
    assert isinstance(waiting, Accepted)
    assert keyed.bought() == []

    keyed.end(KEY, state)

    ended = keyed.provider.look_up(KEY, taken.reference, OpenGuard())
    if state == "delivered":
        assert isinstance(ended, Confirmed)
        assert len(keyed.bought()) == 1
    else:
        assert ended == Rejected("permanent", "purchase_failed")
        assert keyed.bought() == []


def test_what_has_expired_is_not_begun(keyed: Subject) -> None:
    gone = purchase(expires_at=datetime.now(UTC))

    answer = keyed.provider.submit(gone, OpenGuard())

    assert answer == Unavailable("retryable", "expired")
    assert keyed.bought() == []
