"""Providers are asked for their balance now and then; a low one is told once."""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest

from application.goods.port import (
    Balance,
    Capabilities,
    GoodsProvider,
    LookupAnswer,
    Purchase,
    SubmitAnswer,
    Unavailable,
    Unconfigured,
    Unknown,
)
from application.operators.instruction import Instruction
from application.ports import CallGuard
from application.providers.limiting import MoneyLine, Wanted
from domain.goods.health import COOL_DOWN, LAST_FAILURE
from infrastructure.guards.balances import EVERY_SECONDS, BalanceWatch
from infrastructure.guards.wiring import Guarding
from infrastructure.postgres.batch_store import BatchStore
from infrastructure.postgres.database import Database
from infrastructure.postgres.streams import PostgresStreams
from tests.fixtures.database import TestDatabase
from tests.guards.conftest import WORKER

pytestmark = [
    pytest.mark.database,
    pytest.mark.usefixtures("heads_equal_folds", "messages_equal_events"),
]


@dataclass
class Teller:
    """A provider that does nothing but tell its balance."""

    answer: Balance | Unknown = field(default_factory=lambda: Balance(500, "RUB"))
    capabilities: Capabilities = field(
        default_factory=lambda: Capabilities(has_balance=True)
    )
    is_broken: bool = False
    asked: int = 0

    def find(self, tenant_id: str, slug: str) -> GoodsProvider | Unconfigured:
        del tenant_id
        return self if slug == "stars" else Unconfigured("provider_unconfigured", "")

    def submit(self, purchase: Purchase, guard: CallGuard) -> SubmitAnswer:
        raise AssertionError(purchase, guard)

    def look_up(
        self, key: str, reference: str | None, guard: CallGuard
    ) -> LookupAnswer:
        raise AssertionError(key, reference, guard)

    def balance(self, guard: CallGuard) -> Balance | Unknown:
        assert guard.may_begin()
        self.asked += 1
        if self.is_broken:
            raise ValueError
        return self.answer


@pytest.fixture
def teller(pool: Database, guarding: Guarding, olga: Instruction) -> Teller:
    with pool.connection() as connection:
        connection.execute(
            """
            INSERT INTO counterfoil.goods_providers
                   (tenant_id, slug, adapter, is_enabled, base_url, credential,
                    credential_key, credential_at)
            SELECT 'default', slug, 'idempotent', true, 'https://gateway.example',
                   decode(repeat('00', 40), 'hex'), 'k1', counterfoil.now()
              FROM unnest(ARRAY['stars', 'moons']) AS slug
            """
        )
    wanted = Wanted(currency="RUB", low_balance_minor=200)
    guarding.limits(pool, BatchStore(pool)).limit("default", "stars", wanted, olga)
    return Teller()


@pytest.fixture
def watch(pool: Database, teller: Teller) -> BalanceWatch:
    return BalanceWatch(pool, teller, WORKER)


def line(pool: Database, guarding: Guarding) -> MoneyLine:
    lines = guarding.limits(pool, BatchStore(pool)).book.lines()
    return next(each for each in lines if each.provider == "stars")


def notices(database: TestDatabase) -> list[dict[str, Any]]:
    rows = database.connect().execute(
        "SELECT data FROM counterfoil.outbox WHERE topic = 'provider.balance_low'"
        " ORDER BY position"
    )
    return [row[0] for row in rows]


def later(database: TestDatabase) -> None:
    database.advance(timedelta(seconds=EVERY_SECONDS))


def test_a_balance_is_asked_for_now_and_then_by_one_for_all(
    database: TestDatabase,
    pool: Database,
    guarding: Guarding,
    teller: Teller,
    watch: BalanceWatch,
) -> None:
    other = BalanceWatch(pool, teller, WORKER)

    assert [watch.ask(), other.ask(), watch.ask()] == [1, 0, 0]
    later(database)
    assert other.ask() == 1

    assert teller.asked == 2
    told = line(pool, guarding)
    assert (told.balance_minor, told.balance_currency) == (500, "RUB")
    assert (told.status, told.is_low) == ("healthy", False)


def test_a_low_balance_is_told_once_for_as_long_as_it_is_low(
    database: TestDatabase,
    pool: Database,
    guarding: Guarding,
    teller: Teller,
    watch: BalanceWatch,
) -> None:
    for minor in (199, 150, 0):
        teller.answer = Balance(minor, "RUB")
        watch.ask()
        later(database)

    assert notices(database) == [
        {
            "provider": "stars",
            "currency": "RUB",
            "balance_minor": 199,
            "low_balance_minor": 200,
        }
    ]
    assert line(pool, guarding).is_low

    for minor in (200, 10):
        teller.answer = Balance(minor, "RUB")
        watch.ask()
        later(database)

    assert [each["balance_minor"] for each in notices(database)] == [199, 10]


def test_another_currency_says_nothing_about_the_threshold(
    database: TestDatabase, teller: Teller, watch: BalanceWatch
) -> None:
    teller.answer = Balance(1, "EUR")
    watch.ask()

    assert notices(database) == []


def test_no_answer_leaves_the_last_one(
    database: TestDatabase,
    pool: Database,
    guarding: Guarding,
    teller: Teller,
    watch: BalanceWatch,
) -> None:
    watch.ask()
    teller.answer = Unknown("timeout")
    for teller.is_broken in (False, True):
        later(database)
        assert watch.ask() == 0

    assert teller.asked == 3
    assert line(pool, guarding).balance_minor == 500


def test_a_provider_that_tells_none_is_left_alone(
    teller: Teller, watch: BalanceWatch
) -> None:
    teller.capabilities = Capabilities()

    assert watch.ask() == 0
    assert teller.asked == 0


def test_a_balance_opens_the_gate_without_a_purchase(
    database: TestDatabase, pool: Database, guarding: Guarding, watch: BalanceWatch
) -> None:
    watch.ask()
    money = guarding.money(pool)
    for _ in range(LAST_FAILURE):
        money.record("default", "stars", Unavailable("provider_balance", "no_money"))
    assert money.health.wait_written()
    gates = PostgresStreams(pool)
    assert gates.closed_gate("goods:stars") == "breaker_open"

    database.advance(COOL_DOWN)
    assert watch.ask() == 1

    assert line(pool, guarding).closed_at is None
    assert money.barring("default", "stars", 1) is None


def test_a_round_waits_for_no_answer(teller: Teller, watch: BalanceWatch) -> None:
    watch.round()
    watch.wait()

    assert teller.asked == 1
