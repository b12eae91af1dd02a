"""`counterfoil deliveries`: from what waits to what was decided, by a person."""

import pytest

from infrastructure.postgres.database import Database
from tests.api.command import Command
from tests.fixtures.database import TestDatabase
from tests.fixtures.read_models import project
from tests.operators.deliveries.goods import Shop
from tests.operators.world import World

pytestmark = [pytest.mark.database, pytest.mark.usefixtures("heads_equal_folds")]

EVIDENCE = ("--evidence", "the ledger, entry 7741", "--reason", "case 12")
RECIPIENT = "anna_b"


@pytest.fixture
def shop(world: World) -> Shop:
    return Shop(world)


def test_a_review_is_found_looked_at_and_decided(
    shop: Shop, counterfoil: Command, database: TestDatabase
) -> None:
    delivery = shop.review(is_sender_gone=False)
    with Database(database.conninfo, pool_size=2) as pool:
        project(pool)

    listed = counterfoil("deliveries", "list", "--provider", "stars", "--count")
    shown = counterfoil("deliveries", "show", str(delivery))
    barred = counterfoil("deliveries", "decide", str(delivery), "buy_again", *EVIDENCE)
    version = ("--version", str(shop.state(delivery).version))
    done = counterfoil(
        *("deliveries", "decide", str(delivery), "delivered", *EVIDENCE, *version)
    )
    again = counterfoil("deliveries", "decide", str(delivery), "delivered", *EVIDENCE)

    assert str(delivery) in listed.out
    assert "1 in all" in listed.out
    assert RECIPIENT not in listed.out
    for told in (
        f"2 x telegram_stars 50 for {RECIPIENT} at stars",
        f"key goods:{shop.state(delivery).order}:1:1",
        "worker-1:4711 (purchase 1, decision 1) is not known to be dead",
        "goods.purchase_submitted",
        "NOT NOW, nothing was bought: buy anew: worker-1:4711 is not known",
        f"counterfoil deliveries decide {delivery} delivered",
    ):
        assert told in shown.out, shown.out
    assert (barred.code, barred.complaint()[:16]) == (1, "sender_not_gone:")
    assert done.code == 0, done.err
    assert done.out.startswith("delivered: the recipient has it (job ")
    assert "it is so already" in again.out
    assert shop.state(delivery).stage == "delivered"


def test_programs_get_documents(shop: Shop, counterfoil: Command) -> None:
    delivery = shop.review()
    # Nobody has configured the provider.
    asked = counterfoil("deliveries", "reconcile", str(delivery), *EVIDENCE[2:])
    story = counterfoil("deliveries", "show", str(delivery), "--json").document
    decided = counterfoil(
        *("deliveries", "decide", str(delivery), "not_purchased", *EVIDENCE, "--json")
    ).document
    why = counterfoil("why", str(delivery), "--json").document

    assert asked.code == 1
    assert "provider stars cannot be asked" in asked.complaint()
    assert (story["state"], story["purchases"]) == ("needs_review", 1)
    assert [each["type"] for each in story["events"]][-1] == "operator.action_refused"
    assert [each.get("barred") for each in story["choices"]] == [None] * 4
    assert (decided["state"], decided["verdict"]) == ("refunded", "not_purchased")
    assert decided["events"][:2] == ["goods.review_decided", "goods.refunded"]
    assert why["kind"] == "delivery"
    assert why["deliveries"][0]["refundedMinor"] == 190


def test_nothing_has_that_id(counterfoil: Command) -> None:
    shown = counterfoil("deliveries", "show", "A-1")

    assert (shown.code, shown.complaint()) == (
        1,
        "there is no delivery A-1; `counterfoil deliveries list --all` lists them",
    )
