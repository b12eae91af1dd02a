"""`counterfoil refund`: asked for once, and what the answer says to a person."""

import pytest

from infrastructure.client import Client
from tests.api.command import Command
from tests.fixtures.database import TestDatabase

pytestmark = pytest.mark.database

ORDER = {
    "orderId": "A-1",
    "customerId": "anna",
    "kind": "purchase",
    "currency": "EUR",
    "amountMinor": 1299,
    "lines": [{"line": 1, "type": "access", "days": 30}],
}


@pytest.fixture
def settled(database: TestDatabase) -> TestDatabase:
    Client(database.connect()).settle_order(ORDER)
    return database


def test_a_refund_is_asked_for_once(
    counterfoil: Command, settled: TestDatabase
) -> None:
    """I5."""
    first = counterfoil("refund", "A-1", "--reason", "charged back")
    again = counterfoil("refund", "A-1", "--reason", "charged back")

    assert (first.code, again.code) == (0, 0)
    assert first.out.startswith("the refund of order A-1 is asked for; job ")
    assert again.out.startswith(
        "the refund of order A-1 is asked for, as it was before; job "
    )
    assert first.err == again.err == ""
    jobs = settled.connect().execute(
        "SELECT args->>'reason' FROM counterfoil.jobs WHERE kind = 'order_refund'"
    )
    assert jobs.fetchall() == [("charged back",)]


def test_its_answer_and_what_it_asks_for_are_told_as_json(
    counterfoil: Command, settled: TestDatabase
) -> None:
    refund = ("refund", "A-1", "--reason", "half", "--json")

    result = counterfoil(*refund, "--line", "1", "--amount-minor", "649")

    ((args, job),) = (
        settled.connect()
        .execute(
            "SELECT args, stream_id::text FROM counterfoil.jobs"
            " WHERE kind = 'order_refund'"
        )
        .fetchall()
    )
    assert args == {
        "order_id": "A-1",
        "lines": [1],
        "amount_minor": 649,
        "reason": "half",
    }
    assert result.document["jobId"] == job
    assert result.document["replayed"] is False


def test_another_refund_of_the_order_is_refused(
    counterfoil: Command, settled: TestDatabase
) -> None:
    """I5."""
    counterfoil("refund", "A-1", "--reason", "charged back")
    before = settled.connect().execute("SELECT count(*) FROM counterfoil.events")

    result = counterfoil("refund", "A-1", "--reason", "another reason")

    assert result.code == 1
    assert "idempotency_key_reused" in result.complaint()
    after = settled.connect().execute("SELECT count(*) FROM counterfoil.events")
    assert after.fetchall() == before.fetchall()


@pytest.mark.usefixtures("settled")
def test_an_order_that_nobody_settled_is_told(counterfoil: Command) -> None:
    result = counterfoil("refund", "A-2", "--reason", "charged back")

    assert result.code == 0
    assert "no order A-2 is settled here" in result.err


@pytest.mark.usefixtures("settled")
def test_a_reason_is_required_and_has_its_length(counterfoil: Command) -> None:
    missing = counterfoil("refund", "A-1")
    short = counterfoil("refund", "A-1", "--reason", "no")

    assert (missing.code, short.code) == (2, 1)
    assert "reason" in missing.complaint()
    assert "3 to 400 characters" in short.complaint()
