"""SIGKILL at named points of a purchase, at a blind provider and at one that tells.

Judge is the gateway's own ledger.  Up to the commit of the submission nothing was
asked, so it is simply bought afterwards.  From that commit to the one of the outcome
nobody can know: a blind provider's purchase ends with a person and is never bought
again, the other one's is found out or repeated under its key, without anybody.
"""

import pytest

from domain.errors import IllegalTransitionError
from domain.event import Actor
from domain.goods.commands import Confirm, Decide
from tests.crash.goods.buyer import POINTS
from tests.crash.goods.market import BLIND, KEYED, PAST_THE_LEASE, Line, Market
from tests.fixtures.proxy import Proxy
from tests.fixtures.workers import until

pytestmark = [pytest.mark.crash, pytest.mark.timeout(150)]

OLGA = Actor("operator", "olga")


def finish(market: Market) -> None:
    """Let what the dead had claimed be rescued, and everything come to its end."""
    market.disarm()
    market.advance(PAST_THE_LEASE)
    market.start_buyer()
    market.settle_down()


def assert_known(market: Market, *lines: Line) -> None:
    """Everything was bought, once, and nobody had to be asked."""
    assert [market.state(line) for line in lines] == ["delivered" for _ in lines]
    judge = market.judged()
    assert [judge.effects(str(line.order)) for line in lines] == [1 for _ in lines]
    assert sum(judge.asked.values()) == len(lines)


def assert_unknown(market: Market, blind: Line, keyed: Line, *, bought: int) -> None:
    """A person has the one, and only a person ends it; the other one is delivered."""
    assert market.state(keyed) == "delivered", market.facts(keyed)
    assert market.state(blind) == "needs_review", market.facts(blind)
    assert market.facts(blind).count("purchase_submitted") == 1
    judge = market.judged()
    assert judge.effects(str(keyed.order)) == 1
    assert judge.effects(str(blind.order)) == bought
    until(lambda: market.one("senders", blind) == [])  # it is proved dead
    decide(market, blind, "delivered" if bought else "not_purchased")
    assert market.state(blind) == ("delivered" if bought else "refunded")
    market.judged()


def decide(
    market: Market, line: Line, verdict: str, *, is_override: bool = False
) -> None:
    market.tell(
        line,
        Decide(
            verdict=verdict,
            evidence="the gateway's ledger",
            by=OLGA,
            is_override=is_override,
            needs_second=False,
        ),
    )


def caught(market: Market, *lines: Line, any_of_them: bool = False) -> None:
    """Return once all of them stand in their traps, then end the process."""
    enough = any if any_of_them else all
    until(lambda: enough(market.caught(line) is not None for line in lines))
    market.kill(market.buyers[-1])


# --------------------------------------------------------- inside the buyer's process


@pytest.mark.parametrize("point", POINTS)
def test_i2_killed_at_a_point_of_the_way_to_the_provider_and_back(
    market: Market, point: str
) -> None:
    blind, keyed = (market.owe(each, point, "wait") for each in (BLIND, KEYED))
    market.start_buyer()
    # One settler writes for both, so only the first one gets there.
    caught(market, blind, keyed, any_of_them=point == "settling")

    finish(market)

    if point in {"claimed", "deciding", "submitting"}:
        assert_known(market, blind, keyed)
    else:
        has_arrived = point in {"sent", "answered", "settling"}
        assert_unknown(market, blind, keyed, bought=int(has_arrived))


# -------------------------------------------------------------------- in the database


def test_i2_killed_before_the_claim_commits(market: Market) -> None:
    lines = market.owe(BLIND), market.owe(KEYED)
    with market.blocked("LOCK TABLE counterfoil.events IN SHARE MODE"):
        market.start_buyer()
        until(market.somebody_waits_for_a_lock)
        market.kill(market.buyers[-1])

    finish(market)

    assert_known(market, *lines)


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("of", ["purchase_submitted", "purchase_confirmed"])
def test_i2_killed_while_a_commit_is_on_its_way(
    market: Market, proxy: Proxy, of: str, moment: str
) -> None:
    """Of transaction 1 and of transaction 2: lost with the process, or done unheard."""
    hold = proxy.hold_before_commit if moment == "before" else proxy.hold_commit_answer
    lines = list[Line]()
    for provider in (BLIND, KEYED):
        plan = hold(of=of)
        lines.append(market.owe(provider))
        market.start_buyer(proxy.conninfo, slots=1)
        plan.wait(40)
        market.kill(market.buyers[-1])
        proxy.close_all()

    finish(market)

    match of, moment:
        case "purchase_submitted", "before":
            assert_known(market, *lines)
        case "purchase_submitted", "after":
            assert_unknown(market, *lines, bought=0)
        case "purchase_confirmed", "before":
            assert_unknown(market, *lines, bought=1)
        case _:
            assert_known(market, *lines)


# --------------------------------------------------------------------- at the gateway


@pytest.mark.parametrize("then", ["dropped", "carried out at once", "carried out late"])
def test_i2_killed_before_the_provider_has_accepted(market: Market, then: str) -> None:
    """What a client that is gone has asked may be carried out all the same."""
    lines = market.owe(BLIND), market.owe(KEYED)
    holds = [market.hold("before_accept", line) for line in lines]
    market.start_buyer()
    for hold in holds:
        market.wait_held(hold)
    market.kill(market.buyers[-1])
    if then != "carried out late":
        for hold in holds:
            market.release(hold, drop=then == "dropped")

    finish(market)
    for hold in holds if then == "carried out late" else ():
        market.release(hold)
        until(lambda: market.has_answered(2))

    assert_unknown(market, *lines, bought=int(then != "dropped"))


def test_i2_killed_after_the_provider_has_accepted(market: Market) -> None:
    lines = market.owe(BLIND), market.owe(KEYED)
    holds = [market.hold("after_accept", line) for line in lines]
    market.start_buyer()
    for hold in holds:
        market.wait_held(hold)
    market.kill(market.buyers[-1])
    for hold in holds:
        market.release(hold, drop=True)

    finish(market)

    assert_unknown(market, *lines, bought=1)


def test_i2_killed_once_all_is_recorded(market: Market) -> None:
    lines = market.owe(BLIND), market.owe(KEYED)
    market.start_buyer()
    until(lambda: all(market.state(line) == "delivered" for line in lines))
    market.kill(market.buyers[-1])

    finish(market)

    assert_known(market, *lines)


def test_i2_told_by_another_way_before_the_answer_and_killed_then(
    market: Market,
) -> None:
    """As a callback tells it: bought, while the request itself is not answered yet."""
    lines = market.owe(BLIND), market.owe(KEYED)
    holds = [market.hold("after_accept", line) for line in lines]
    market.start_buyer()
    for line, hold in zip(lines, holds, strict=True):
        market.wait_held(hold)
        market.tell(line, Confirm(decision=1, reference="told"))
    market.kill(market.buyers[-1])
    for hold in holds:
        market.release(hold, drop=True)

    finish(market)

    assert_known(market, *lines)


# --------------------------------------------------------------------------- a person


def test_a_blind_purchase_stays_with_a_person_for_ever_and_then_ends_by_his_word(
    market: Market,
) -> None:
    blind = market.owe(BLIND, "sent", "kill")
    market.start_buyer()
    until(lambda: market.buyers[-1].poll() is not None)
    finish(market)

    for _ in range(3):
        market.advance(PAST_THE_LEASE * 1000)
        market.settle_down()

    assert market.state(blind) == "needs_review"
    assert market.judged().effects(str(blind.order)) == 1
    decide(market, blind, "delivered")
    with pytest.raises(IllegalTransitionError):
        decide(market, blind, "not_purchased")
    market.judged()
