"""One job of kind `fulfillment`, from its claim to what it leaves on record."""

from datetime import timedelta
from uuid import UUID

import pytest

from application.fulfillment.handler import FulfillmentArgs
from application.ports import (
    Confirmed,
    Halted,
    Misconfigured,
    PanelAnswer,
    Rejected,
    Unavailable,
    Unknown,
)
from application.unit import Refused
from domain.fulfillment.aggregate import Stage
from domain.fulfillment.events import (
    AttemptFailed,
    AttemptStarted,
    Failed,
    Interrupted,
    Parked,
    Requested,
    Succeeded,
)
from domain.jobs import aggregate as jobs
from domain.jobs.outcome import Cancel, Completed, Fail, Park, Retry, Snooze
from domain.jobs.verdict import LeaseLost
from domain.order.aggregate import Stage as OrderStage
from domain.stream import Change, Ref, StreamKind
from tests.application.memory import MemoryContext, shown
from tests.application.shop import Shop, access_line


@pytest.fixture
def shop() -> Shop:
    return Shop()


def kinds(shop: Shop, operation: Ref) -> list[type]:
    return [type(event) for event in shop.log.events_of(operation)]


def order_stage(shop: Shop, operation: Ref) -> OrderStage:
    order = shop.log.operation(operation).order
    assert order is not None
    return shop.log.paid(Ref(StreamKind.ORDER, order)).stage


def test_a_confirmed_operation_succeeds_with_its_order_and_what_was_observed(
    shop: Shop,
) -> None:
    operation = shop.buy(access_line(traffic_bytes=5))

    outcome = shop.run(shop.job_of(operation))

    assert isinstance(outcome, Completed)
    assert kinds(shop, operation) == [Requested, AttemptStarted, Succeeded]
    state = shop.log.operation(operation)
    assert state.entitlement is not None
    entitlement = shop.log.entitlement(Ref(StreamKind.ENTITLEMENT, state.entitlement))
    assert entitlement.observed is not None
    assert entitlement.observed.traffic_limit_bytes == 5
    assert order_stage(shop, operation) is OrderStage.FULFILLED


def test_the_attempt_is_on_record_before_the_panel_is_asked(shop: Shop) -> None:
    operation = shop.buy()
    on_record: list[Stage] = []
    shop.panel.meanwhile = lambda: on_record.append(shop.log.operation(operation).stage)

    shop.run(shop.job_of(operation))

    assert on_record == [Stage.RUNNING]


def test_every_request_names_operation_and_attempt(shop: Shop) -> None:
    operation = shop.buy()
    shop.panel.answers.append(Unavailable("remnawave_http_429"))

    shop.run(shop.job_of(operation))
    shop.run(shop.job_of(operation))

    asked = [request_id for request_id, _ in shop.panel.asked]
    assert asked == [f"{operation.id}.1", f"{operation.id}.2"]


def test_the_panel_user_is_known_after_the_first_success(shop: Shop) -> None:
    first = shop.buy()
    shop.run(shop.job_of(first))
    second = shop.buy()

    shop.run(shop.job_of(second))

    assert [access.panel_user_id for _, access in shop.panel.asked] == [None, 7]


def test_an_unchanged_observation_is_recorded_once(shop: Shop) -> None:
    until = shop.log.now + timedelta(days=9)
    for _ in range(2):
        shop.run(shop.job_of(shop.buy(access_line(days=None, ends_at=until))))

    (entitlement,) = (it for it in shop.log.heads if it.kind is StreamKind.ENTITLEMENT)
    tags = [event.tag for event in shop.log.events_of(entitlement)]
    assert tags.count("entitlement.observed") == 1


ENDINGS: list[tuple[PanelAnswer, type, str, list[type], str]] = [
    (Rejected("remnawave_http_400"), Fail, "discarded", [Failed], "remnawave_http_400"),
    (Rejected("unknown_squads"), Fail, "discarded", [Failed], "unknown_squads"),
    (
        Unavailable("remnawave_http_429", "", 90.0),
        Retry,
        "waiting",
        [AttemptFailed],
        "remnawave_http_429",
    ),
    (
        Unknown("remnawave_unavailable"),
        Retry,
        "waiting",
        [AttemptFailed],
        "remnawave_unavailable",
    ),
    (
        Misconfigured("panel_credentials"),
        Park,
        "waiting",
        [Parked],
        "panel_credentials",
    ),
    (Halted("", requests=0), Snooze, "waiting", [Interrupted], "interrupted"),
    (Halted("", requests=1), Retry, "waiting", [AttemptFailed], "interrupted"),
]


@pytest.mark.parametrize(("answer", "outcome", "job", "events", "code"), ENDINGS)
def test_each_answer_ends_job_and_record_together(  # noqa: PLR0913, PLR0917 - a row of the table
    shop: Shop,
    answer: PanelAnswer,
    outcome: type,
    job: str,
    events: list[type],
    code: str,
) -> None:
    operation = shop.buy()
    shop.panel.answers.append(answer)

    said = shop.run(shop.job_of(operation))

    assert type(said) is outcome
    assert shop.log.job(shop.job_of(operation)).stage == job
    assert kinds(shop, operation) == [Requested, AttemptStarted, *events]
    assert shop.log.operation(operation).code == code
    assert order_stage(shop, operation) is OrderStage.PAID


@pytest.mark.parametrize(
    ("answer", "spent"),
    [
        (Unavailable("remnawave_unavailable"), 1),
        (Unknown("remnawave_unavailable"), 1),
        (Halted("", requests=3), 1),
        (Halted("", requests=0), 0),
        (Misconfigured("panel_configuration"), 0),
    ],
)
def test_only_an_attempt_that_may_have_reached_the_panel_is_spent(
    shop: Shop, answer: PanelAnswer, spent: int
) -> None:
    """I3: a hold and a call that never began cost nothing."""
    operation = shop.buy()
    shop.panel.answers.append(answer)

    shop.run(shop.job_of(operation))

    assert shop.log.job(shop.job_of(operation)).attempt == spent


def test_a_wait_that_the_panel_asks_for_is_never_undercut(shop: Shop) -> None:
    operation = shop.buy()
    shop.panel.answers.append(Unavailable("remnawave_http_503", "", 90.0))

    shop.run(shop.job_of(operation))

    due = shop.log.now + timedelta(seconds=90)
    assert shop.log.job(shop.job_of(operation)).run_at == due
    assert shop.log.operation(operation).next_attempt_at == due


def test_the_schedule_is_10_to_1280_seconds_and_then_the_operation_fails(
    shop: Shop,
) -> None:
    operation = shop.buy()
    shop.panel.answers.extend([Unknown("remnawave_unavailable")] * 12)
    waits: list[float] = []

    for _ in range(12):
        shop.run(shop.job_of(operation))
        due = shop.log.operation(operation).next_attempt_at
        if due is not None:
            waits.append((due - shop.log.now).total_seconds())

    assert waits == [10, 20, 40, 80, 160, 320, 640, *[1280] * 4]
    assert shop.log.operation(operation).stage is Stage.FAILED
    assert shop.log.operation(operation).code == "remnawave_unavailable"
    assert shop.log.job(shop.job_of(operation)).code == "budget_spent"


def test_a_parking_is_recorded_once_an_episode(shop: Shop) -> None:
    operation = shop.buy()
    shop.panel.answers.extend([Misconfigured("panel_credentials")] * 3)

    for _ in range(3):
        shop.run(shop.job_of(operation))

    assert kinds(shop, operation).count(Parked) == 1
    assert shop.log.job(shop.job_of(operation)).attempt == 0


def test_a_holder_that_was_replaced_begins_nothing(shop: Shop) -> None:
    """I4: transaction 1 checks the token under the job's lock."""
    operation = shop.buy()
    job = shop.job_of(operation)
    stale = shop.claim(job)
    shop.settle(stale, LeaseLost(cause="lease_lost"))
    shop.claim(job)

    outcome = shop.handle(stale)

    assert shop.panel.asked == []
    assert kinds(shop, operation) == [Requested]
    assert shop.settle(stale, outcome) == Refused("lease_lost")


def test_what_a_replaced_holder_learned_is_refused(shop: Shop) -> None:
    """I4: its success, its observation and its order's fulfilment are not written."""
    operation = shop.buy()
    stale = shop.claim(shop.job_of(operation))
    outcome = shop.handle(stale)
    shop.settle(stale, LeaseLost(cause="lease_lost"))

    assert shop.settle(stale, outcome) == Refused("lease_lost")
    assert kinds(shop, operation) == [Requested, AttemptStarted, Interrupted]
    assert order_stage(shop, operation) is OrderStage.PAID


def test_an_attempt_after_a_crash_counts_on(shop: Shop) -> None:
    operation = shop.buy()
    crashed = shop.claim(shop.job_of(operation))
    shop.handle(crashed)
    shop.settle(crashed, LeaseLost(cause="process_gone"))

    shop.run(shop.job_of(operation))

    asked = [request_id for request_id, _ in shop.panel.asked]
    assert asked == [f"{operation.id}.1", f"{operation.id}.2"]
    assert kinds(shop, operation)[-2:] == [AttemptStarted, Succeeded]


@pytest.mark.parametrize("end", [Confirmed, Rejected])
def test_a_job_whose_operation_has_ended_asks_nothing(shop: Shop, end: type) -> None:
    operation = shop.buy()
    if end is Rejected:
        shop.panel.answers.append(Rejected("remnawave_http_400"))
    shop.run(shop.job_of(operation))
    twin = shop.enqueue(
        jobs.Enqueue(
            kind="fulfillment",
            args={"operation_id": str(operation.id)},
            run_at=shop.log.now,
        )
    )
    before = kinds(shop, operation)

    outcome = shop.run(twin)

    assert isinstance(outcome, Completed)
    assert len(shop.panel.asked) == 1
    assert kinds(shop, operation) == before


def test_an_operation_that_is_not_due_yet_waits_for_its_instant(shop: Shop) -> None:
    due = shop.log.now + timedelta(hours=1)
    operation = shop.buy(effective_at=due)

    outcome = shop.run(shop.job_of(operation))

    assert isinstance(outcome, Snooze)
    assert shop.log.job(shop.job_of(operation)).run_at == due
    assert shop.log.job(shop.job_of(operation)).attempt == 0
    assert kinds(shop, operation) == [Requested]


def test_a_requested_cancel_stops_before_the_panel_is_asked(shop: Shop) -> None:
    operation = shop.buy()
    job = shop.job_of(operation)
    context = shop.claim(job)
    before = shop.log.job(job)
    events = jobs.decide(before, jobs.Cancel())
    shop.log.write(
        Change(
            ref=job,
            tenant_id="default",
            expected=before.version,
            events=events,
            state=jobs.fold(events, before),
        )
    )

    outcome = shop.handle(context)
    shop.settle(context, outcome)

    assert outcome == Cancel(code="operator")
    assert shop.panel.asked == []
    assert shop.log.operation(operation).stage is Stage.CANCELLED
    assert shop.log.job(job).stage == "cancelled"


def test_a_job_about_no_operation_is_cancelled(shop: Shop) -> None:
    context = MemoryContext(job_id=UUID(int=5), token=1)

    outcome = shop.fulfill(FulfillmentArgs(operation_id=UUID(int=4)), context)

    assert outcome == Cancel(code="operation_missing")


def test_a_lease_without_time_begins_nothing(shop: Shop) -> None:
    operation = shop.buy()
    context = shop.claim(shop.job_of(operation))
    context.seconds_left = 0.0

    outcome = shop.handle(context)

    assert isinstance(outcome, Snooze)
    assert kinds(shop, operation) == [Requested]


UNUSABLE = [
    {"traffic_bytes": -1},
    {"traffic_bytes": 2**53},
    {"device_limit": 0},
    {"device_limit": 2**31},
    {"grace_seconds": 10**9 * 300},
    {"squad_ids": ("no-uuid",)},
]


@pytest.mark.parametrize("members", UNUSABLE)
def test_an_impossible_desired_state_fails_unasked(
    shop: Shop, members: dict[str, object]
) -> None:
    operation = shop.buy(access_line(**members))

    outcome = shop.run(shop.job_of(operation))

    assert outcome == Fail(code="invalid_desired_state")
    assert shop.panel.asked == []
    assert kinds(shop, operation) == [Requested, Failed]
    assert shop.log.operation(operation).code == "invalid_desired_state"


def test_an_operation_of_a_kind_unknown_here_fails_unasked(shop: Shop) -> None:
    operation = shop.buy()
    shop.rename(operation, "levitate")

    outcome = shop.run(shop.job_of(operation))

    assert outcome == Fail(code="unsupported_operation")


def test_an_operation_carries_its_own_version_and_not_a_later_one(shop: Shop) -> None:
    """What is settled while the panel is asked belongs to the next operation."""
    operation = shop.buy(access_line(days=30))
    mine = shop.log.operation(operation).desired
    shop.panel.meanwhile = lambda: shop.buy(access_line(days=60))

    shop.run(shop.job_of(operation))

    assert shop.panel.asked[0][1].desired == mine
    assert shop.log.operation(operation).stage is Stage.SUCCEEDED


def test_an_operators_retry_revives_job_and_record(shop: Shop) -> None:
    operation = shop.buy()
    shop.panel.answers.append(Rejected("remnawave_http_400"))
    shop.run(shop.job_of(operation))

    shop.revive(operation)
    shop.run(shop.job_of(operation))

    assert shop.panel.asked[-1][0] == f"{operation.id}.2"
    assert shop.log.operation(operation).stage is Stage.SUCCEEDED
    assert order_stage(shop, operation) is OrderStage.FULFILLED


def test_a_status_of_the_panel_is_taken_as_it_is(shop: Shop) -> None:
    operation = shop.buy()
    shop.run(shop.job_of(operation))
    access = shop.panel.asked[0][1]
    later = shop.buy()
    shop.panel.answers.append(Confirmed(shown(access, status="EXPIRED")))

    shop.run(shop.job_of(later))

    assert shop.log.operation(later).stage is Stage.SUCCEEDED
