"""Why nothing may be bought now, and who may try a provider that was ill."""

from datetime import timedelta
from pathlib import Path

import pytest

from application.goods.port import (
    Confirmed,
    SubmitAnswer,
    Unavailable,
    Unknown,
)
from application.operators.instruction import Instruction
from application.operators.quarantine import Quarantining, Wish
from application.providers.limiting import Wanted
from domain.goods.health import COOL_DOWN, LAST_FAILURE, PATIENCE, Patience
from infrastructure.guards.journal import NAME
from infrastructure.guards.money import MoneyGuards
from infrastructure.guards.wiring import Guarding
from infrastructure.ids import new_id
from infrastructure.postgres.batch_store import BatchStore
from infrastructure.postgres.database import Database
from infrastructure.postgres.streams import PostgresStreams
from tests.fixtures.database import ON_BOTH_SERVERS, TestDatabase
from tests.guards.buyer import PRICE, Buyer
from tests.guards.conftest import WORKER

pytestmark = ON_BOTH_SERVERS

ILL = Unavailable("provider_unavailable", "http_401")
GATE = "goods:stars"


@pytest.fixture
def money(pool: Database, guarding: Guarding) -> MoneyGuards:
    return guarding.money(pool)


@pytest.fixture
def gates(pool: Database) -> PostgresStreams:
    return PostgresStreams(pool)


def told(money: MoneyGuards, *answers: SubmitAnswer) -> None:
    for answer in answers:
        money.record("default", "stars", answer)
    assert money.health.wait_written()


def barred(money: MoneyGuards, cost_minor: int = PRICE) -> str | None:
    guard = money.barring("default", "stars", cost_minor)
    return None if guard is None else guard.code


def test_nothing_bars_where_nothing_is_wrong(money: MoneyGuards) -> None:
    assert barred(money) is None


def test_a_quarantine_bars(
    money: MoneyGuards, quarantining: Quarantining, olga: Instruction
) -> None:
    quarantining.engage(Wish(sign="operator"), olga)

    guard = money.barring("default", "stars", PRICE)

    assert guard is not None
    assert guard.code == "quarantined"
    assert guard.until > quarantining.status().now


def test_a_line_of_the_journal_that_the_log_lacks_bars_and_engages(
    money: MoneyGuards, guarding: Guarding, quarantining: Quarantining, buyer: Buyer
) -> None:
    """Over connections that were there before: a pooler may lead them elsewhere."""
    for delivery in buyer.owe(2):
        buyer.buy(delivery)
    assert barred(money) is None
    guarding.journal.write(f"goods:{new_id()}:1:1", 1)

    assert barred(money) == "quarantined"
    assert quarantining.status().signs == ("journal",)


def test_a_journal_that_takes_no_line_bars(pool: Database, tmp_path: Path) -> None:
    (tmp_path / NAME).mkdir()

    assert barred(Guarding.of(tmp_path, WORKER).money(pool)) == "journal_unwritable"


def test_after_a_failure_the_journal_is_tried_before_anything_is_submitted(
    pool: Database, tmp_path: Path
) -> None:
    """What is open and reads well may still have no room."""
    guarding = Guarding.of(tmp_path, WORKER)
    money = guarding.money(pool)
    guarding.journal.check()
    folder = guarding.journal.path.rename(tmp_path / "aside")
    guarding.journal.path.mkdir()
    with pytest.raises(OSError, match="directory"):
        guarding.journal.write(f"goods:{new_id()}:1:1", 1)
    guarding.journal.path.rmdir()
    folder.rename(guarding.journal.path)

    assert barred(money) is None
    assert guarding.journal.path.read_bytes() == b"\n"


def test_a_limit_bars_what_it_would_refuse(
    pool: Database,
    money: MoneyGuards,
    guarding: Guarding,
    buyer: Buyer,
    olga: Instruction,
) -> None:
    with pool.connection() as connection:
        connection.execute(
            "INSERT INTO counterfoil.goods_providers"
            " (tenant_id, slug, adapter, is_enabled)"
            " VALUES ('default', 'stars', 'fragment', true)"
        )
    wanted = Wanted(currency="RUB", spend_limit_minor=PRICE)
    guarding.limits(pool, BatchStore(pool)).limit("default", "stars", wanted, olga)
    assert barred(money) is None

    buyer.buy(buyer.owe()[0])

    assert barred(money) == "spend_limit"
    assert barred(money, 0) is None  # a repeat costs nothing more


def test_failures_in_a_row_close_the_gate_of_that_provider_alone(
    money: MoneyGuards, gates: PostgresStreams
) -> None:
    told(money, *[ILL] * (LAST_FAILURE - 1))
    assert gates.closed_gate(GATE) is None

    told(money, Unknown("timeout"))

    assert gates.closed_gate(GATE) == "breaker_open"
    assert gates.closed_gate("goods:moons") is None
    assert gates.closed_gate("panel") is None


def test_a_purchase_that_succeeds_in_between_keeps_it_open(
    money: MoneyGuards, gates: PostgresStreams
) -> None:
    told(money, *[ILL] * (LAST_FAILURE - 1), Confirmed("r"), ILL)

    assert gates.closed_gate(GATE) is None


def test_when_the_cool_down_is_over_one_tries_and_the_others_wait(
    database: TestDatabase, money: MoneyGuards, gates: PostgresStreams
) -> None:
    told(money, *[ILL] * LAST_FAILURE)
    database.advance(COOL_DOWN)

    assert gates.closed_gate(GATE) is None
    assert [barred(money) for _ in range(3)] == [None, "breaker_open", "breaker_open"]


def test_who_tried_and_was_never_heard_of_is_followed_by_another(
    database: TestDatabase, money: MoneyGuards
) -> None:
    told(money, *[ILL] * LAST_FAILURE)
    database.advance(COOL_DOWN)
    assert barred(money) is None

    database.advance(PATIENCE.probe_for + timedelta(seconds=1))

    assert barred(money) is None


def test_a_try_that_fails_closes_the_gate_for_longer(
    database: TestDatabase, money: MoneyGuards, gates: PostgresStreams
) -> None:
    told(money, *[ILL] * LAST_FAILURE)
    database.advance(COOL_DOWN)
    assert barred(money) is None
    told(money, ILL)
    assert gates.closed_gate(GATE) == "breaker_open"

    database.advance(COOL_DOWN)
    assert gates.closed_gate(GATE) == "breaker_open"
    database.advance(COOL_DOWN)
    assert gates.closed_gate(GATE) is None


def test_a_try_that_succeeds_lets_all_go_on(
    database: TestDatabase, money: MoneyGuards, gates: PostgresStreams
) -> None:
    told(money, *[ILL] * LAST_FAILURE)
    database.advance(COOL_DOWN)
    assert barred(money) is None

    told(money, Confirmed())

    assert gates.closed_gate(GATE) is None
    assert [barred(money) for _ in range(3)] == [None] * 3


def test_an_answer_is_taken_while_the_database_is_away(
    database: TestDatabase, guarding: Guarding
) -> None:
    del database
    away = Database("postgresql://nobody@127.0.0.1:1/none", pool_size=1)
    money = guarding.money(away)

    told(money, ILL)


def test_a_demo_leaves_an_ill_provider_alone_for_seconds_only(
    database: TestDatabase, pool: Database, guarding: Guarding, gates: PostgresStreams
) -> None:
    money = guarding.money(pool, Patience(timedelta(seconds=1)))
    told(money, *[ILL] * LAST_FAILURE)
    assert gates.closed_gate(GATE) == "breaker_open"

    database.advance(timedelta(seconds=1))
    assert [barred(money), barred(money)] == [None, "breaker_open"]
    database.advance(timedelta(seconds=3))

    assert barred(money) is None
