"""A limit is exact, however many buy at once, and equal to the rule in `domain`."""

import threading
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from application.errors import NotFoundError
from application.operators.instruction import Instruction
from application.providers.limiting import LimitProviders, Wanted
from application.unit import Refused, Written
from domain.errors import InvalidRequestError
from domain.goods.answers import RETRYABLE
from domain.goods.commands import Confirm, LoseTrack, Refuse, Withdraw
from domain.goods.spending import Limits, Spent, may_spend
from infrastructure.guards.wiring import Guarding
from infrastructure.postgres.batch_store import BatchStore
from infrastructure.postgres.database import Database
from tests.fixtures.database import ON_BOTH_SERVERS, TestDatabase
from tests.guards.buyer import PRICE, Buyer

pytestmark = [ON_BOTH_SERVERS, pytest.mark.usefixtures("heads_equal_folds")]

NEXT = datetime(2026, 12, 1, tzinfo=UTC)


@pytest.fixture
def limits(pool: Database, guarding: Guarding) -> LimitProviders:
    with pool.connection() as connection:
        connection.execute(
            "INSERT INTO counterfoil.goods_providers"
            " (tenant_id, slug, adapter, is_enabled)"
            " VALUES ('default', 'stars', 'fragment', true)"
        )
    return guarding.limits(pool, BatchStore(pool))


@pytest.fixture
def three(limits: LimitProviders, olga: Instruction) -> LimitProviders:
    """Three pieces may be bought in a window of a day."""
    wanted = Wanted(currency="RUB", spend_limit_minor=3 * PRICE)
    limits.limit("default", "stars", wanted, olga)
    return limits


def spent(limits: LimitProviders) -> int:
    (line,) = limits.book.lines()
    return line.spent_minor


@pytest.mark.usefixtures("three")
def test_nothing_is_bought_beyond_the_limit(buyer: Buyer) -> None:
    told = [buyer.buy(each) for each in buyer.owe(5)]

    assert told == ["bought"] * 3 + ["spend_limit"] * 2


def test_the_limit_is_exact_when_all_buy_at_once(
    buyer: Buyer, three: LimitProviders
) -> None:
    deliveries = buyer.owe(8)
    together = threading.Barrier(len(deliveries))
    told: list[str] = []

    def buy(n: int) -> None:
        together.wait()
        told.append(buyer.buy(deliveries[n]))

    threads = [threading.Thread(target=buy, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(told) == ["bought"] * 3 + ["spend_limit"] * 5
    assert spent(three) == 3 * PRICE


def test_in_one_batch_each_is_let_in_or_refused_alone(
    buyer: Buyer, three: LimitProviders
) -> None:
    results = buyer.submit_together(buyer.owe(5))

    assert sum(isinstance(each, Written) for each in results) == 3
    assert results.count(Refused("spend_limit")) == 2
    assert spent(three) == 3 * PRICE


def test_what_was_definitely_not_bought_is_given_back(
    buyer: Buyer, three: LimitProviders
) -> None:
    refused, withdrawn, for_good = buyer.owe(3)
    for each in (refused, withdrawn, for_good):
        assert buyer.buy(each) == "bought"
    assert spent(three) == 3 * PRICE

    buyer.command(refused, refusal(RETRYABLE))
    buyer.command(withdrawn, Withdraw("no_time"))
    buyer.command(for_good, refusal("permanent"))

    assert spent(three) == 0


def refusal(failure_class: str) -> Refuse:
    return Refuse(
        decision=1,
        failure_class=failure_class,
        code="http_429",
        next_at=NEXT,
        is_answer=True,
    )


def test_what_was_or_may_have_been_bought_counts(
    buyer: Buyer, three: LimitProviders
) -> None:
    delivered, unknown = buyer.owe(2)
    buyer.buy(delivered)
    buyer.buy(unknown)

    buyer.command(delivered, Confirm(decision=1, reference="r"))
    buyer.command(unknown, LoseTrack(code="timeout", is_sender_gone=True))

    assert spent(three) == 2 * PRICE


def test_a_window_ends(
    database: TestDatabase, buyer: Buyer, three: LimitProviders
) -> None:
    for each in buyer.owe(3):
        buyer.buy(each)
    (late,) = buyer.owe()
    assert buyer.buy(late) == "spend_limit"

    database.advance(timedelta(days=1, seconds=1))

    assert spent(three) == 0
    assert buyer.buy(late) == "bought"


def test_zero_is_no_limit_and_what_is_set_later_counts_what_was_spent(
    buyer: Buyer, limits: LimitProviders, olga: Instruction
) -> None:
    limits.limit("default", "stars", Wanted(currency="RUB", spend_limit_minor=0), olga)
    for each in buyer.owe(4):
        assert buyer.buy(each) == "bought"

    limits.limit("default", "stars", Wanted(spend_limit_minor=4 * PRICE), olga)

    assert buyer.buy(buyer.owe()[0]) == "spend_limit"


def test_what_costs_another_currency_is_not_bought_under_a_limit(
    buyer: Buyer, limits: LimitProviders, olga: Instruction
) -> None:
    limits.limit(
        "default", "stars", Wanted(currency="EUR", spend_limit_minor=9**9), olga
    )

    assert buyer.buy(buyer.owe()[0]) == "spend_limit"


def test_a_disabled_provider_is_not_bought_of(
    pool: Database, buyer: Buyer, limits: LimitProviders
) -> None:
    del limits
    with pool.connection() as connection:
        connection.execute("UPDATE counterfoil.goods_providers SET is_enabled = false")

    assert buyer.buy(buyer.owe()[0]) == "provider_unconfigured"


def test_setting_the_same_again_writes_nothing(
    three: LimitProviders, olga: Instruction
) -> None:
    again = three.limit("default", "stars", Wanted(spend_limit_minor=3 * PRICE), olga)
    window = three.limit("default", "stars", Wanted(spend_window_seconds=60), olga)

    assert again.events == ()
    assert window.events == ("provider.limited",)
    assert window.position > again.position
    assert (window.line.spend_limit_minor, window.line.currency) == (3 * PRICE, "RUB")


def test_limits_that_cannot_be_meant_are_refused(
    limits: LimitProviders, olga: Instruction
) -> None:
    for wanted, path in (
        (Wanted(spend_limit_minor=5), "currency"),
        (Wanted(currency="rub"), "currency"),
        (Wanted(currency="RUB", spend_limit_minor=-1), "spendLimitMinor"),
        (Wanted(currency="RUB", spend_window_seconds=0), "spendWindowSeconds"),
        (Wanted(currency="RUB", low_balance_minor=-1), "lowBalanceMinor"),
    ):
        with pytest.raises(InvalidRequestError, match=path):
            limits.limit("default", "stars", wanted, olga)
    with pytest.raises(NotFoundError, match="no provider moons"):
        limits.limit("default", "moons", Wanted(currency="RUB"), olga)


AMOUNTS = st.lists(
    st.tuples(st.integers(0, 300), st.integers(1, 90)), min_size=1, max_size=12
)


@settings(
    max_examples=8,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(purchases=AMOUNTS, limit=st.integers(1, 900))
def test_the_database_decides_as_the_rule_does(  # noqa: PLR0913 - what it needs
    database: TestDatabase,
    buyer: Buyer,
    limits: LimitProviders,
    olga: Instruction,
    *,
    purchases: list[tuple[int, int]],
    limit: int,
) -> None:
    database.advance(timedelta(days=2))  # what an earlier example spent is over
    wanted = Wanted(currency="RUB", spend_limit_minor=limit, spend_window_seconds=3_600)
    limits.limit("default", "stars", wanted, olga)
    rule = Limits(
        currency="RUB", spend_limit_minor=limit, spend_window=timedelta(hours=1)
    )
    history: list[Spent] = []
    clock = datetime(2026, 1, 1, tzinfo=UTC)
    for cost, minutes in purchases:
        expected = may_spend(rule, history, cost, "RUB", clock)
        (delivery,) = buyer.owe(cost_minor=cost)
        assert (buyer.buy(delivery) == "bought") == expected
        if expected:
            history.append(Spent(clock, cost))
        # Never quite a window: tests run for longer than an instant.
        step = timedelta(minutes=minutes, seconds=30)
        database.advance(step)
        clock += step
