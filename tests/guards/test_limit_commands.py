"""`providers limits`: what it says to a person and to a machine, and its exit codes."""

from collections.abc import Callable
from pathlib import Path

import pytest

from api.cli.app import run
from infrastructure.bootstrap import Composition
from infrastructure.postgres.database import Database
from tests.fixtures.database import TestDatabase
from tests.guards.buyer import PRICE, Buyer
from tests.guards.told import Told

pytestmark = [pytest.mark.database, pytest.mark.usefixtures("heads_equal_folds")]

BUDGET = ("--currency", "RUB", "--spend-limit", str(3 * PRICE))
WHY = ("--reason", "budget of May")

type Ask = Callable[..., Told]


@pytest.fixture
def ask(
    database: TestDatabase,
    pool: Database,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> Ask:
    with pool.connection() as connection:
        connection.execute(
            "INSERT INTO counterfoil.goods_providers"
            " (tenant_id, slug, adapter, is_enabled)"
            " VALUES ('default', 'stars', 'fragment', true)"
        )
    place = Composition(
        {
            "COUNTERFOIL_DATABASE_URL": database.url,
            "COUNTERFOIL_DATA_DIR": str(tmp_path / "host"),
        }
    )

    def asked(*arguments: str) -> Told:
        code = run(place, ["providers", "limits", *arguments])
        said = capsys.readouterr()
        return Told(code, said.out, said.err)

    return asked


def test_limits_are_set_and_shown(ask: Ask, buyer: Buyer) -> None:
    told = ask("stars", *BUDGET, "--low-balance", "50", *WHY)
    buyer.buy(buyer.owe()[0])
    shown = ask()

    assert told.out == (
        "provider stars: spent 0 of 300 RUB in 86400 s; "
        "a balance below 50 RUB is told\n"
    )
    assert "100 of 300 RUB in 86400 s" in shown.out
    assert "unknown" in shown.out


def test_a_machine_gets_the_same_as_documents(ask: Ask) -> None:
    first = ask("stars", *BUDGET, *WHY, "--json").document
    again = ask("stars", *BUDGET, *WHY, "--json").document
    off = ask("stars", "--spend-limit", "0", *WHY, "--json").document
    (line,) = ask("stars", "--json").document["providers"]

    assert first["events"] == ["provider.limited"]
    assert again["events"] == []
    assert off["line"]["spendLimitMinor"] == 0
    assert line == off["line"]
    assert (line["currency"], line["lowBalanceMinor"]) == ("RUB", None)


def test_a_notice_is_set_and_taken_away(ask: Ask) -> None:
    ask("stars", *BUDGET, "--low-balance", "50", *WHY)

    told = ask("stars", "--no-low-balance", *WHY)

    assert told.out.endswith("nobody is told of a low balance\n")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ((*BUDGET, *WHY), 2, "Name the provider"),
        (("stars", *BUDGET), 2, "--reason"),
        (("stars", "--spend-limit", "5", *WHY), 1, "currency"),
        (("moons", *BUDGET, *WHY), 1, "there is no provider moons"),
        (("moons",), 1, "there is no provider moons"),
        (("stars", "--spend-limit", "-1", *WHY), 2, "--spend-limit"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    ask: Ask, arguments: tuple[str, ...], code: int, said: str
) -> None:
    told = ask(*arguments)

    assert (told.code, told.out) == (code, "")
    assert said in told.err
