"""SIGKILL of a person's command at its COMMIT, and the same command once more (I5, I9).

The command talks through a proxy, which keeps its COMMIT back or the answer to it.
Whoever saw it die repeats it: what was asked for is there once, whichever it was.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.api.command import Command
from tests.fixtures.database import TestDatabase
from tests.fixtures.proxy import Proxy
from tests.operators.deliveries.goods import Shop
from tests.operators.world import SERVED, World, bring

pytestmark = [
    pytest.mark.crash,
    pytest.mark.timeout(150),
    pytest.mark.usefixtures("heads_equal_folds"),
]

REASON = ("--reason", "the customer asked")
EVIDENCE = ("--evidence", "the ledger, entry 7741")
AGAIN = "it runs without a person's help"


@dataclass(frozen=True)
class Case:
    """One command, the event that it writes, and what it says twice."""

    command: tuple[str, ...]
    event: str
    again: str
    code: int = 0
    """Of the repetition, when the first one had committed."""
    words: str = ""
    """Of its transaction, if they are not the event's."""


CASES = {
    "operate": Case(
        ("operate", "customer:ann", "pause", "--key", "ticket-12"),
        "entitlement.paused",
        "pause is asked for before, pending",
    ),
    "refund": Case(
        ("refund", "shop:1"), "job.enqueued", "as it was before", words="refund_order"
    ),
    "cancel": Case(("cancel", "JOB"), "job.cancelled", "it is so already"),
    "retry": Case(("retry", "JOB"), "job.retried", AGAIN, code=1),
    "refund goods": Case(
        ("deliveries", "decide", "DELIVERY", "not_purchased", *EVIDENCE),
        "goods.refunded",
        "it is so already",
    ),
    "buy again": Case(
        ("deliveries", "decide", "DELIVERY", "buy_again", *EVIDENCE),
        "goods.review_decided",
        "it is so already",
    ),
    "cancel goods": Case(("cancel", "OWED"), "goods.refunded", "it is so already"),
}


@pytest.fixture
def counterfoil(database: TestDatabase) -> Iterator[Command]:
    command = Command(COUNTERFOIL_DATABASE_URL=database.url, COUNTERFOIL_OPERATOR="ann")
    try:
        yield command
    finally:
        command.close()


def prepared(world: World, name: str) -> tuple[str, ...]:
    """Return the command, about something that is there for it."""
    case = CASES[name]
    if {"DELIVERY", "OWED"} & set(case.command):
        shop = Shop(world)
        delivery = str(shop.owe() if "OWED" in case.command else shop.review())
        line = (delivery if it.isupper() else it for it in case.command)
        return (*line, *REASON)
    if "JOB" not in case.command:
        world.operation("ann")
        return (*case.command, *REASON)
    job, _ = bring(world, "discarded" if name == "retry" else "due", SERVED)
    return (*(str(job) if it == "JOB" else it for it in case.command), *REASON)


def written(world: World, event: str) -> list[tuple[Any, ...]]:
    """Return who wrote what, on whose word and why."""
    return world.connection.execute(
        """
        SELECT stream_id, meta->'actor'->>'id', meta->>'reason'
          FROM counterfoil.events
         WHERE type = %s AND (type <> 'job.enqueued' OR data->>'kind' = 'order_refund')
        """,
        (event,),
    ).fetchall()


@pytest.mark.parametrize("name", CASES)
def test_killed_before_its_commit_a_command_has_asked_for_nothing(
    world: World, counterfoil: Command, proxy: Proxy, name: str
) -> None:
    case, line = CASES[name], prepared(world, name)
    plan = proxy.hold_before_commit(of=case.words or case.event)
    killed = counterfoil.start(*line, COUNTERFOIL_DATABASE_URL=proxy.conninfo)
    plan.wait(60)
    killed.process.kill()
    killed.end()
    proxy.close_all()
    assert written(world, case.event) == []

    again = counterfoil(*line)

    assert again.code == 0, again.err
    assert case.again not in again.out
    assert len(written(world, case.event)) == 1


@pytest.mark.parametrize("name", CASES)
def test_killed_after_its_commit_a_command_is_found_done(
    world: World, counterfoil: Command, proxy: Proxy, name: str
) -> None:
    case, line = CASES[name], prepared(world, name)
    plan = proxy.hold_commit_answer(of=case.words or case.event)
    killed = counterfoil.start(*line, COUNTERFOIL_DATABASE_URL=proxy.conninfo)
    plan.wait(60)
    killed.process.kill()
    assert killed.end().out == ""
    proxy.close_all()
    ((_, actor, _),) = before = written(world, case.event)

    again = counterfoil(*line)

    assert again.code == case.code, again.err
    assert case.again in again.out + again.err
    assert written(world, case.event) == before
    assert actor == ("ann" if name != "refund" else actor)
