"""A buyer that is frozen directly before its socket write, past its lease.

Nobody knows then whether he will still ask.  So the money is neither given back nor
spent again, until he is proved dead or an owner takes it on himself.
"""

import os
import signal

import pytest

from domain.goods.errors import BarredError
from tests.crash.goods.market import BLIND, KEYED, PAST_THE_LEASE, Line, Market
from tests.crash.goods.test_kills import decide
from tests.fixtures.processes import Process
from tests.fixtures.workers import until

pytestmark = [pytest.mark.crash, pytest.mark.timeout(150)]


def freeze(market: Market, *lines: Line) -> Process:
    """Let a buyer stop itself directly before the write, and lose its lease."""
    buyer = market.start_buyer(slots=len(lines))
    until(lambda: any(market.caught(line) is not None for line in lines))
    market.disarm()
    market.advance(PAST_THE_LEASE)
    market.start_buyer()
    return buyer


def thaw(buyer: Process) -> None:
    os.kill(buyer.pid, signal.SIGCONT)


def test_i2_frozen_before_a_blind_provider_it_bars_what_could_buy_twice(
    market: Market,
) -> None:
    line = market.owe(BLIND, "sending", "stop")
    buyer = freeze(market, line)
    market.settle_down()
    assert market.state(line) == "needs_review"

    for verdict in ("not_purchased", "buy_again"):
        with pytest.raises(BarredError):
            decide(market, line, verdict)
    market.advance(PAST_THE_LEASE * 100)
    with pytest.raises(BarredError):
        decide(market, line, "not_purchased")
    market.kill(buyer)
    until(lambda: market.one("senders", line) == [])  # only now it is proved
    decide(market, line, "not_purchased")

    assert market.state(line) == "refunded"
    assert market.judged().effects(str(line.order)) == 0


def test_i2_thawed_it_buys_what_it_was_asked_for_and_says_so(
    market: Market,
) -> None:
    line = market.owe(BLIND, "sending", "stop")
    buyer = freeze(market, line)
    market.settle_down()

    thaw(buyer)
    # Its claim is over, but that it was bought is the provider's own word.
    until(lambda: market.state(line) == "delivered")

    judge = market.judged()
    assert judge.effects(str(line.order)) == 1
    assert market.facts(line).count("purchase_submitted") == 1
    assert "review_decided" not in market.facts(line), "nobody had to be asked"


def test_i2_thawed_after_it_was_bought_under_the_same_key_it_buys_nothing(
    market: Market,
) -> None:
    """Repeated meanwhile, by a provider that honours keys: its late request is none."""
    line = market.owe(KEYED, "sending", "stop")
    buyer = freeze(market, line)
    market.settle_down()
    assert market.state(line) == "delivered"
    assert market.facts(line).count("purchase_submitted") == 2

    thaw(buyer)
    until(lambda: market.has_answered(2))

    judge = market.judged()
    assert judge.effects(str(line.order)) == 1
    assert sum(judge.asked.values()) == 2


def test_i2_a_frozen_buyer_that_wakes_after_an_overridden_refund_is_on_record(
    market: Market,
) -> None:
    """Who overrides takes it on himself: the record says so, and the ledger too."""
    line = market.owe(BLIND, "sending", "stop")
    buyer = freeze(market, line)
    market.settle_down()
    decide(market, line, "not_purchased", is_override=True)
    before = market.facts(line)

    thaw(buyer)
    until(lambda: market.has_answered(1))
    market.kill(buyer)
    market.settle_down()

    assert market.state(line) == "refunded"
    assert market.facts(line) == before
    ((is_override,),) = market.rows(
        "SELECT (data->>'is_override')::boolean FROM counterfoil.events"
        " WHERE type = 'goods.review_decided'"
    )
    assert is_override


def test_i2_a_refund_is_barred_while_its_buyer_is_frozen_so_waking_it_costs_nothing(
    market: Market,
) -> None:
    """Without an override, nobody is refunded for what a buyer may still buy."""
    line = market.owe(BLIND, "sending", "stop")
    buyer = freeze(market, line)
    market.settle_down()
    with pytest.raises(BarredError):
        decide(market, line, "not_purchased")

    hold = market.hold("after_accept", line)
    thaw(buyer)
    market.wait_held(hold)
    market.kill(buyer)  # it has bought, and says nothing any more
    market.release(hold, drop=True)
    until(lambda: market.one("senders", line) == [])
    decide(market, line, "delivered")

    judge = market.judged()
    assert market.state(line) == "delivered"
    assert judge.effects(str(line.order)) == 1
