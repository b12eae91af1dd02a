"""Scenario S11, word by word: bought once, whoever is killed when."""

from collections.abc import Callable

import pytest

from tests.crash.goods.market import BLIND, KEYED, PAST_THE_LEASE, Line, Market
from tests.fixtures.workers import until

pytestmark = [pytest.mark.crash, pytest.mark.timeout(150)]


def _before_the_claim(market: Market, _lines: list[Line]) -> None:
    with market.blocked("LOCK TABLE counterfoil.events IN SHARE MODE"):
        market.start_buyer()
        until(market.somebody_waits_for_a_lock)
        market.kill(market.buyers[-1])


def _trapped(market: Market, lines: list[Line]) -> None:
    market.start_buyer()
    until(lambda: all(market.caught(line) is not None for line in lines))
    market.kill(market.buyers[-1])


def _during_the_call(market: Market, lines: list[Line]) -> None:
    holds = [market.hold("before_accept", line) for line in lines]
    market.start_buyer()
    for hold in holds:
        market.wait_held(hold)
    market.kill(market.buyers[-1])
    for hold in holds:
        market.release(hold)


KILLS: dict[str, tuple[str, Callable[[Market, list[Line]], None]]] = {
    "before the claim commits": ("", _before_the_claim),
    "after the claim": ("claimed", _trapped),
    "during the call": ("", _during_the_call),
    "after the call, before the record": ("answered", _trapped),
}


@pytest.mark.parametrize("moment", KILLS)
def test_s11_a_delivery_is_bought_once(market: Market, moment: str) -> None:
    point, kill = KILLS[moment]
    lines = [market.owe(each, point, "wait") for each in (BLIND, KEYED)]

    kill(market, lines)
    market.disarm()
    market.advance(PAST_THE_LEASE)
    market.start_buyer()
    market.settle_down()

    judge = market.judged()
    blind, keyed = lines
    # At most one call for each counted purchase, at most one effect for a line.
    assert judge.effects(str(blind.order)) == judge.effects(str(keyed.order)) == 1
    assert market.state(keyed) == "delivered"
    if "call" not in moment:
        # The queue tried again by itself, and that alone raised no counter.
        assert market.state(blind) == "delivered"
        assert [market.one("purchases", line) for line in lines] == [1, 1]
        return
    # A crash after the call began: ambiguous, and nobody buys blindly.
    assert market.state(blind) == "needs_review"
    assert market.one("purchases", blind) == 1
    assert "purchase_unknown" in market.facts(blind)
    facts = market.facts(keyed)
    assert "reconciled" in facts or "purchase_submitted" in facts[2:]
