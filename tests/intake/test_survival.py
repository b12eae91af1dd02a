"""Requests under keys while the first one runs, and when COMMIT's answer is lost."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from application.errors import IdempotencyInProgressError, IdempotencyKeyReusedError
from application.front_door import KeyBusyError
from application.intake.intake import Intake
from application.once.commit import AnsweredBeforeError
from infrastructure.errors import CommitUnknownError
from tests.fixtures.database import TestDatabase
from tests.fixtures.proxy import Plan, Proxy
from tests.intake.asked import JOB, KEY, asking, births, order

pytestmark = pytest.mark.crash

CUTS = pytest.mark.parametrize(
    "cut", [Proxy.cut_commit_answer, Proxy.cut_before_commit], ids=["after", "before"]
)


def test_while_the_first_runs_nobody_waits_and_everybody_is_told_why(
    database: TestDatabase, proxy: Proxy, intake: Intake, cut_intake: Intake
) -> None:
    held = proxy.hold_before_commit("counterfoil.enqueue")
    with ThreadPoolExecutor(1) as others:
        first = others.submit(cut_intake.enqueue, JOB, asking(KEY))
        held.wait()

        with pytest.raises(IdempotencyInProgressError):
            intake.enqueue(JOB, asking(KEY))
        with pytest.raises(IdempotencyKeyReusedError):
            intake.enqueue(JOB, asking(KEY, body={"other": 1}))

        assert not first.done()
        proxy.close_all()  # and the first repeats it
        assert not first.result().duplicate

    assert len(births(database.connect())) == 1


@CUTS
def test_a_job_under_a_key_is_born_once(
    database: TestDatabase,
    proxy: Proxy,
    cut_intake: Intake,
    cut: Callable[[Proxy], Plan],
) -> None:
    plan = cut(proxy)

    told: list[str] = []
    for _ in range(2):
        try:
            told.append(str(cut_intake.enqueue(JOB, asking(KEY)).job_id))
        except AnsweredBeforeError as before:
            told.append(before.answer.id)

    plan.wait()
    assert len(set(told)) == 1
    assert len(births(database.connect())) == 1


@CUTS
def test_an_order_is_settled_once_without_any_key_but_its_own(
    database: TestDatabase,
    proxy: Proxy,
    cut_intake: Intake,
    cut: Callable[[Proxy], Plan],
) -> None:
    plan = cut(proxy)

    settled = cut_intake.settle_order(order(), asking())

    plan.wait()
    assert settled.order_id == "A-1"
    assert [tag for _, tag, _ in births(database.connect())] == [
        "order.paid",
        "job.enqueued",
    ]


def test_without_any_key_nobody_says_whether_there_is_a_job(
    proxy: Proxy, cut_intake: Intake
) -> None:
    plan = proxy.cut_commit_answer()

    with pytest.raises(CommitUnknownError):
        cut_intake.enqueue(JOB, asking())

    plan.wait()


def test_whoever_thinks_over_a_unique_key_holds_nobody_up_for_long(
    database: TestDatabase, intake: Intake
) -> None:
    request = {**JOB, "uniqueKey": "one", "tenant": "acme"}
    thinking = database.connect()
    with thinking.transaction():
        thinking.execute(
            """
            SELECT counterfoil.enqueue(
                '{"kind": "noop", "uniqueKey": "one", "tenant": "acme"}')
            """
        )

        with pytest.raises(KeyBusyError) as busy:
            intake.enqueue(request, asking())

    assert busy.value.path == "uniqueKey"
    assert intake.enqueue(request, asking()).duplicate
