"""`outbox`: what waits to be published, for a person and as JSON."""

import pytest

from infrastructure.client import Client
from infrastructure.postgres.database import Database
from tests.api.command import Command
from tests.fixtures.database import TestDatabase
from tests.fixtures.read_models import project

pytestmark = pytest.mark.database


def settle(database: TestDatabase, number: int) -> int:
    """Settle an order, and return where in the log that is."""
    order = {
        "orderId": f"o-{number}",
        "customerId": "ann",
        "kind": "topup",
        "currency": "EUR",
        "amountMinor": 5,
    }
    return Client(database.connect()).settle_order(order).position


def publish(database: TestDatabase) -> None:
    database.connect().execute(
        "UPDATE counterfoil.outbox SET published_at = counterfoil.now()"
    )


def test_what_waits_is_told_in_all_and_by_topic(
    counterfoil: Command, database: TestDatabase
) -> None:
    position = settle(database, 1)

    told = counterfoil("outbox", "--topic", "wallet.credited", "--json").document

    (topic,) = told["topics"]
    assert told["pendingCount"] == topic["pendingCount"] == 1
    assert told["oldestAgeSeconds"] == topic["oldestAgeSeconds"] > 0
    assert (told["relation"], topic["topic"]) == ("eq", "wallet.credited")
    # Nobody has projected it yet, and it is counted all the same.
    assert told["asOf"]["position"] == 0 < position


def test_a_person_reads_it_in_one_sentence_and_a_table(
    counterfoil: Command, database: TestDatabase
) -> None:
    nothing = counterfoil("outbox")
    settle(database, 1)
    settle(database, 2)
    waits = counterfoil("outbox")
    publish(database)
    done = counterfoil("outbox")

    assert nothing.out == "nothing waits to be published\n"
    assert "wallet.credited" in waits.out
    assert "2 messages wait to be published, the oldest for" in waits.out
    assert done.out.endswith("nothing waits to be published\n")


def test_a_series_is_told_step_by_step(
    counterfoil: Command, database: TestDatabase
) -> None:
    settle(database, 1)
    publish(database)
    settle(database, 2)
    line = ("outbox", "--series", "--since", "2d", "--step", "1d")

    told = counterfoil(*line, "--json").document
    shown = counterfoil(*line)

    assert told["step"] == "1d"
    assert sum(each["recordedCount"] for each in told["points"]) == 2
    assert sum(each["pendingCount"] for each in told["points"]) == 1
    assert "wallet.credited" in shown.out
    assert "longest wait" in shown.out


def test_it_waits_for_the_position_of_an_answer(
    counterfoil: Command, database: TestDatabase
) -> None:
    position = settle(database, 1)
    with Database(database.conninfo, pool_size=2) as pool:
        project(pool)

    told = counterfoil("outbox", "--at-least", position, "--json").document
    beyond = counterfoil("outbox", "--at-least", position + 1)

    assert told["asOf"]["position"] >= position
    assert (beyond.code, beyond.complaint()[:15]) == (1, "position_ahead:")


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        (("--since", "1h"), "give --series too"),
        (("--series", "--since", "soon"), "write it as 90s, 30m, 12h or 7d"),
        (("--topic", "nothing"), "order.paid"),
        (("--at-least", "-1"), "--at-least"),
    ],
)
def test_what_makes_no_sense_is_refused_with_a_remedy(
    counterfoil: Command, options: tuple[str, ...], rule: str
) -> None:
    refused = counterfoil("outbox", *options)

    assert refused.code == 2
    assert rule in refused.complaint()


def test_a_series_that_is_too_long_is_refused_by_name(counterfoil: Command) -> None:
    refused = counterfoil("outbox", "--series", "--since", "501d")

    assert refused.code == 1
    assert "since: at most 500 steps" in refused.complaint()
