"""Who is told what: thin messages, and none of most events."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from domain.entitlement.events import DriftDetected, DriftResolved
from domain.entitlement.state import Desired, Entitlement
from domain.event import Event
from domain.fulfillment import aggregate as fulfillment
from domain.fulfillment import commands
from domain.jobs import events as job_events
from domain.jobs.aggregate import Enqueue, Job, decide, fold
from domain.maintenance import aggregate as maintenance
from domain.maintenance.aggregate import (
    Announcement,
    Close,
    MaintenanceCommand,
    MaintenanceWindow,
    Open,
)
from domain.order import aggregate as order
from domain.outbox import TOPICS, outbox_data
from domain.stream import State
from tests.domain.order.test_order import ADDON, FULFILL, PURCHASE, REFUND, TOPUP, after

STREAM = UUID(int=1)
AT = datetime(2026, 1, 1, tzinfo=UTC)
JOB = fold(decide(Job(), Enqueue(kind="mail", args={"password": "hunter2"}, run_at=AT)))


def told(event: Event, state: State) -> object:
    return outbox_data(event, state, STREAM)


def test_the_topics_are_those_of_the_domain_map() -> None:
    assert sorted(TOPICS) == [
        "addon.purchased",
        "entitlement.drift_detected",
        "fulfillment.failed",
        "goods.delivered",
        "goods.refunded",
        "job.cancelled",
        "job.discarded",
        "job.succeeded",
        "maintenance.closed",
        "maintenance.opened",
        "order.fulfilled",
        "order.paid",
        "order.refunded",
        "provider.balance_low",
        "wallet.credited",
    ]


@pytest.mark.parametrize(
    ("commands", "state"),
    [
        ((PURCHASE,), "paid"),
        ((TOPUP,), "fulfilled"),
        ((ADDON,), "paid"),
        ((PURCHASE, FULFILL), "fulfilled"),
    ],
)
def test_an_order_tells_its_ids_state_and_amounts(
    commands: tuple[order.OrderCommand, ...], state: str
) -> None:
    before = after(*commands[:-1])
    (event,) = order.decide(before, commands[-1])

    assert told(event, order.evolve(before, event)) == {
        "order_stream_id": str(STREAM),
        "order_id": "o",
        "customer_id": "c",
        "slot": 2,
        "kind": commands[0].request.kind
        if isinstance(commands[0], order.Settle)
        else "",
        "state": state,
        "currency": "USD",
        "amount_minor": 500,
        "discount_minor": 50,
    }


def test_a_refund_tells_what_went_back_and_not_why() -> None:
    before = after(PURCHASE, FULFILL)
    (event,) = order.decide(before, REFUND)

    message = told(event, order.evolve(before, event))

    assert message == {
        "order_stream_id": str(STREAM),
        "order_id": "o",
        "customer_id": "c",
        "slot": 2,
        "kind": "purchase",
        "state": "refunded",
        "currency": "USD",
        "amount_minor": 500,
        "discount_minor": 50,
        "lines": [1],
        "refunded_minor": 500,
    }


def test_a_failed_operation_tells_whose_it_was_and_why() -> None:
    request = commands.Request(
        entitlement=UUID(int=2),
        order=UUID(int=3),
        operation="create",
        desired_version=1,
        desired=Desired(ends_at=AT),
        effective_at=AT,
        idempotency_key="order:o:fulfill",
    )
    state = fulfillment.FulfillmentOperation()
    for command in (request, commands.StartAttempt(("create",))):
        (event,) = fulfillment.decide(state, command)
        assert told(event, state) is None
        state = fulfillment.evolve(state, event)
    (failed,) = fulfillment.decide(state, commands.Fail("remnawave_http_400"))
    state = fulfillment.evolve(state, failed)

    assert told(failed, state) == {
        "operation_id": str(STREAM),
        "entitlement_id": str(UUID(int=2)),
        "order_stream_id": str(UUID(int=3)),
        "operation": "create",
        "state": "failed",
        "attempt": 1,
        "code": "remnawave_http_400",
    }


def test_a_drift_tells_whose_and_what_kind_but_not_what_was_seen() -> None:
    state = Entitlement(customer_id="c", slot=2, desired_version=3)
    event = DriftDetected(kind="squads", expected=(), observed=("secret-squad",))

    assert told(event, state) == {
        "entitlement_id": str(STREAM),
        "customer_id": "c",
        "slot": 2,
        "desired_version": 3,
        "kind": "squads",
    }
    assert told(DriftResolved(kind="squads"), state) is None


def test_maintenance_tells_what_customers_may_hear_and_not_why() -> None:
    window = MaintenanceWindow()
    announced = Announcement(
        scope="panel",
        reason="the provider has not been paid",
        notice_ru="Идут работы",
        notice_en="We are at work",
        expected_return=AT + timedelta(hours=1),
    )
    commands: tuple[MaintenanceCommand, ...] = (Open(said=announced, at=AT), Close())
    messages: list[object] = []
    for command in commands:
        (event,) = maintenance.decide(window, command)
        window = maintenance.evolve(window, event)
        messages.append(told(event, window))

    said = {
        "window_id": str(STREAM),
        "scope": "panel",
        "source": "manual",
        "notice_ru": "Идут работы",
        "notice_en": "We are at work",
        "expected_return": "2026-01-01T01:00:00Z",
    }
    assert messages == [said | {"state": "open"}, said | {"state": "closed"}]


@pytest.mark.parametrize(
    ("event", "code"),
    [
        (job_events.Succeeded(attempt=2, token=4, result={"secret": "x"}), None),
        (
            job_events.Discarded(
                attempt=2, token=4, code="budget_spent", error_code="e", error="hunter2"
            ),
            "budget_spent",
        ),
        (job_events.Cancelled(attempt=2, code="operator"), "operator"),
    ],
)
def test_i12_a_job_tells_its_end_without_arguments_result_and_error(
    event: job_events.JobEvent, code: str | None
) -> None:
    assert told(event, JOB) == {
        "job_id": str(STREAM),
        "kind": "mail",
        "attempt": 2,
        "code": code,
    }


def test_the_other_events_of_a_job_are_nobodys_business() -> None:
    silent: tuple[job_events.JobEvent, ...] = (
        job_events.CancelRequested(),
        job_events.Retried(run_at=AT),
        job_events.Snoozed(attempt=0, token=2, until=AT, cause="snoozed"),
    )

    assert [told(event, JOB) for event in silent] == [None, None, None]
