"""What a gateway tells by itself, while a worker waits for its answer or is dead.

The worker and the gateway are processes' ends of a real purchase; the callback is the
gateway's own, signed by it, and taken as a web server would hand it on.
"""

from collections.abc import Iterator
from typing import cast

import pytest

from application.callbacks.all import Callbacks
from application.callbacks.record import Receipt
from application.goods.pace import Pace
from infrastructure.postgres.batch_store import BatchStore
from infrastructure.postgres.database import Database
from infrastructure.postgres.streams import PostgresStreams
from infrastructure.providers.callbacks.wiring import callbacks_over
from infrastructure.seals.key_ring import key_ring_of
from tests.crash.goods.market import KEY, KEYED, PAST_THE_LEASE, Line, Market
from tests.fixtures.workers import until

pytestmark = [pytest.mark.crash, pytest.mark.timeout(150)]


@pytest.fixture
def callbacks(market: Market) -> Iterator[Callbacks]:
    with Database(market.database.conninfo, pool_size=2) as pool:
        yield callbacks_over(
            pool, key_ring_of(KEY), PostgresStreams(pool), BatchStore(pool), Pace()
        )


def hand_on(market: Market, callbacks: Callbacks, line: Line) -> Receipt:
    """Return what became of the gateway's latest callback about a line."""
    told = market.gateway.callbacks(str(market.one("key", line)))[-1]
    headers = cast("dict[str, str]", told["headers"])
    body = cast("str", told["body"]).encode()
    return callbacks.record("default", KEYED, headers, body)


def asked(market: Market, line: Line) -> list[str]:
    """Return what the gateway was asked about a line, in order."""
    return [
        request.action
        for request in market.gateway.requests()
        if request.decision_key is not None and str(line.order) in request.decision_key
    ]


def test_a_callback_before_the_answer_delivers_and_the_answer_changes_nothing(
    market: Market, callbacks: Callbacks
) -> None:
    line = market.owe(KEYED)
    hold = market.hold("after_accept", line)
    market.start_buyer()
    market.wait_held(hold)

    receipt = hand_on(market, callbacks, line)

    assert (receipt.status, market.state(line)) == ("accepted", "delivered")
    market.release(hold)
    market.settle_down()
    assert hand_on(market, callbacks, line).status == "duplicate"
    facts = market.facts(line)
    assert facts[:4] == [
        "owed",
        "purchase_submitted",
        "purchase_confirmed",
        "delivered",
    ]
    assert "review_opened" not in facts
    assert market.judged().effects(str(line.order)) == 1


def test_a_callback_tells_of_a_buyer_that_died_before_anybody_asks(
    market: Market, callbacks: Callbacks
) -> None:
    line = market.owe(KEYED)
    hold = market.hold("after_accept", line)
    buyer = market.start_buyer()
    market.wait_held(hold)
    market.kill(buyer)
    market.release(hold, drop=True)

    receipt = hand_on(market, callbacks, line)

    assert (receipt.status, market.state(line)) == ("accepted", "delivered")
    market.advance(PAST_THE_LEASE)
    market.start_buyer()
    market.settle_down()
    assert asked(market, line) == ["purchase"]
    assert market.judged().effects(str(line.order)) == 1


def test_what_was_taken_ends_as_the_callback_says(
    market: Market, callbacks: Callbacks
) -> None:
    """One is delivered by the callback, the other one refused by it and bought anew."""
    good, bad = market.owe(KEYED), market.owe(KEYED)
    for line in (good, bad):
        market.control("fault", name="deliver_later", match=str(line.order), times=1)
    market.start_buyer()
    until(lambda: {market.one("standing", it) for it in (good, bad)} == {"accepted"})
    keys = [str(market.one("key", line)) for line in (good, bad)]
    market.gateway.complete(keys[0], "delivered")
    market.gateway.complete(keys[1], "failed")

    receipts = [hand_on(market, callbacks, line) for line in (good, bad)]

    assert [receipt.status for receipt in receipts] == ["accepted"] * 2
    assert market.state(good) == "delivered"
    assert "purchase_refused" in market.facts(bad)
    market.settle_down()
    assert market.state(bad) == "delivered"
    assert market.one("key", bad) != keys[1]
    judge = market.judged()
    assert [judge.effects(str(line.order)) for line in (good, bad)] == [1, 1]
