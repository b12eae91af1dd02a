"""Shops ask in their own tenant, with a permission; what is born names them (I9)."""

import pytest

from application.errors import ForbiddenError, QuotaExceededError
from application.intake.intake import Intake
from application.once.commit import AnsweredBeforeError
from application.unit import Answer
from domain.errors import InvalidRequestError
from tests.fixtures.database import TestDatabase
from tests.intake.asked import JOB, KEY, asking, births, order
from tests.limits.room import limit

pytestmark = pytest.mark.database


def test_what_is_born_names_who_asked_and_by_which_request(
    database: TestDatabase, intake: Intake
) -> None:
    intake.settle_order(order(), asking())
    intake.refund_order("A-1", {"reason": "sent back"}, asking())
    intake.enqueue(JOB, asking())

    told = births(database.connect())
    assert [tag for _, tag, _ in told] == [
        "order.paid",
        "job.enqueued",
        "job.enqueued",
        "job.enqueued",
    ]
    assert {tenant for tenant, _, _ in told} == {"acme"}
    for _, _, meta in told:
        assert meta["actor"] == {"type": "shop", "id": "web"}
        assert meta["reason"] == "bought online"
    assert [meta["causation"] for _, _, meta in told] == [
        {"request_id": "request-1"},
        {"request_id": "request-1", "event": 1},
        {"request_id": "request-1"},
        {"request_id": "request-1"},
    ]


def test_nobody_is_named_by_what_an_earlier_transaction_said(
    database: TestDatabase, intake: Intake
) -> None:
    intake.enqueue(JOB, asking())
    with database.connect() as connection:
        connection.execute("SELECT set_config('counterfoil.asked_by', '', false)")
        connection.execute("""SELECT counterfoil.enqueue('{"kind": "noop"}')""")

    (_, _, first), (_, _, second) = births(database.connect())
    assert first["actor"]["id"] == "web"
    assert second["actor"]["id"] != "web"
    assert "causation" not in second


@pytest.mark.parametrize("tenant", ["other", "default", 1, None])
def test_another_tenant_is_refused(intake: Intake, tenant: object) -> None:
    with pytest.raises(InvalidRequestError) as refusal:
        intake.enqueue({**JOB, "tenant": tenant}, asking())

    assert refusal.value.path == "tenant"


def test_kinds_of_the_product_follow_from_what_they_serve(intake: Intake) -> None:
    with pytest.raises(InvalidRequestError) as refusal:
        intake.enqueue({"kind": "order_fanout"}, asking())

    assert refusal.value.path == "kind"


def test_another_order_than_that_of_the_path_is_refused(intake: Intake) -> None:
    request: dict[str, object] = {"orderId": "A-2", "reason": "sent back"}

    with pytest.raises(InvalidRequestError) as refusal:
        intake.refund_order("A-1", request, asking())

    assert refusal.value.path == "orderId"


def test_who_may_not_is_refused_and_on_record(
    database: TestDatabase, intake: Intake
) -> None:
    nobody = asking(permissions=frozenset())

    for ask in (
        lambda: intake.settle_order(order(), nobody),
        lambda: intake.refund_order("A-1", {"reason": "why"}, nobody),
        lambda: intake.enqueue(JOB, nobody),
    ):
        with pytest.raises(ForbiddenError):
            ask()

    told = births(database.connect())
    assert [(tenant, tag) for tenant, tag, _ in told] == [
        ("acme", "operator.action_refused")
    ] * 3


def test_a_repeated_request_is_answered_and_gives_no_second_birth(
    database: TestDatabase, intake: Intake
) -> None:
    first = intake.enqueue(JOB, asking(KEY))

    with pytest.raises(AnsweredBeforeError) as again:
        intake.enqueue(JOB, asking(KEY))

    answer = Answer(status=202, kind="job", id=str(first.job_id))
    assert again.value.answer == answer
    assert len(births(database.connect())) == 1


def test_orders_and_refunds_answer_by_what_they_have_made(intake: Intake) -> None:
    settled = intake.settle_order(order(), asking(KEY))
    asked = intake.refund_order("A-1", {"reason": "why"}, asking(KEY + "r"))

    with pytest.raises(AnsweredBeforeError) as order_again:
        intake.settle_order(order(), asking(KEY))
    with pytest.raises(AnsweredBeforeError) as refund_again:
        intake.refund_order("A-1", {"reason": "why"}, asking(KEY + "r"))

    made = [order_again.value.answer, refund_again.value.answer]
    assert [(answer.kind, answer.id) for answer in made] == [
        ("order", str(settled.stream_id)),
        ("job", str(asked.job_id)),
    ]


def test_a_refused_request_uses_up_no_key(
    database: TestDatabase, intake: Intake
) -> None:
    limit(database.connect(), tenant=1)
    intake.enqueue(JOB, asking())
    with pytest.raises(QuotaExceededError):
        intake.enqueue(JOB, asking(KEY))
    with pytest.raises(InvalidRequestError):
        intake.enqueue({**JOB, "priority": 9}, asking(KEY))
    limit(database.connect())

    assert not intake.enqueue(JOB, asking(KEY)).duplicate
