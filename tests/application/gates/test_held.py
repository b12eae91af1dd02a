"""What maintenance does to an operation: it waits, is told once, and is never asked."""

import msgspec
import pytest

from domain.event import Event
from domain.fulfillment import events as fulfillment
from domain.fulfillment.aggregate import Stage
from domain.jobs import aggregate as jobs
from domain.jobs import events
from domain.jobs.gates import WHEN_OPENED
from domain.jobs.outcome import Cancel, Completed, Fail, Gated, Park, Retry, Snooze
from domain.jobs.verdict import LeaseLost
from domain.maintenance.gates import ALL, MAINTENANCE_ACTIVE, PANEL
from domain.stream import Change, Ref
from tests.application.memory import MemoryLog
from tests.application.shop import Shop

GATED = Gated(gate=PANEL, cause=MAINTENANCE_ACTIVE)


@pytest.fixture
def shop() -> Shop:
    return Shop()


def since_birth(log: MemoryLog, ref: Ref) -> list[type[Event]]:
    return [type(event) for event in log.events_of(ref)[1:]]


@pytest.mark.parametrize("scope", [PANEL, ALL])
def test_under_maintenance_an_operation_is_parked_and_the_panel_not_asked(
    shop: Shop, scope: str
) -> None:
    operation = shop.buy()
    job = shop.job_of(operation)
    shop.close_gate(scope)

    assert shop.run(job) == GATED

    assert shop.panel.asked == []
    assert since_birth(shop.log, operation) == [fulfillment.Parked]
    assert since_birth(shop.log, job) == [events.Claimed, events.Parked]
    state = shop.log.operation(operation)
    assert (state.stage, state.code) == (Stage.RETRYING, MAINTENANCE_ACTIVE)
    assert (state.attempts, state.parked_cause) == (0, MAINTENANCE_ACTIVE)
    held = shop.log.job(job)
    assert (held.attempt, held.gate, held.run_at) == (0, PANEL, WHEN_OPENED)


def test_after_the_maintenance_it_runs_as_if_nothing_had_been(shop: Shop) -> None:
    operation = shop.buy()
    shop.close_gate()
    shop.run(shop.job_of(operation))
    shop.open_gates()

    shop.run_all()

    state = shop.log.operation(operation)
    assert (state.stage, state.attempts, state.code) == (Stage.SUCCEEDED, 1, None)
    assert state.parked_cause is None


def test_a_window_that_closes_and_opens_again_is_a_new_episode(shop: Shop) -> None:
    operation = shop.buy()
    for _ in range(3):
        shop.close_gate()
        shop.run(shop.job_of(operation))
        shop.open_gates()

    assert since_birth(shop.log, operation) == [fulfillment.Parked] * 3
    assert shop.log.job(shop.job_of(operation)).attempt == 0


def test_a_later_operation_covers_under_a_closed_gate_as_well(shop: Shop) -> None:
    """Covering asks nobody, so it comes before the gate."""
    covered, _later = shop.buy(), shop.buy()
    shop.close_gate()

    assert shop.run(shop.job_of(covered)) == Completed(result={"ended": "covered"})

    assert shop.log.operation(covered).code == "covered_by"


def test_what_cannot_be_carried_out_fails_under_a_closed_gate_as_well(
    shop: Shop,
) -> None:
    operation = shop.buy()
    shop.rename(operation, "dance")
    shop.close_gate()

    assert isinstance(shop.run(shop.job_of(operation)), Fail)

    assert shop.log.operation(operation).stage is Stage.FAILED


def test_what_is_for_later_says_nothing_about_the_gate(shop: Shop) -> None:
    operation = shop.buy(effective_at=shop.log.now.replace(year=2027))
    shop.close_gate()

    assert isinstance(shop.run(shop.job_of(operation)), Snooze)

    assert since_birth(shop.log, operation) == []
    assert shop.log.job(shop.job_of(operation)).gate is None
    assert shop.panel.asked == []


def test_what_has_ended_is_not_held(shop: Shop) -> None:
    """The job ends, although the gate is closed: it has nothing to ask."""
    operation = shop.buy()
    job = shop.job_of(operation)
    context = shop.claim(job)
    outcome = shop.handle(context)
    assert isinstance(outcome, Completed)
    shop.settle(context, LeaseLost(cause="lease_lost"))
    head = shop.log.heads[operation]
    ended = msgspec.structs.replace(
        shop.log.operation(operation), stage=Stage.SUCCEEDED
    )
    shop.log.heads[operation] = msgspec.structs.replace(head, state=ended)
    shop.close_gate()

    assert shop.run(job) == Completed(result={"ended": "already"})


def test_a_reconciliation_does_not_look_while_the_gate_is_closed(shop: Shop) -> None:
    shop.run(shop.job_of(shop.buy()))
    looks = list[str]()
    shop.panel.when_looked_at = lambda: looks.append("looked")
    operation = shop.operate("reconcile")
    asked = len(shop.panel.asked)
    shop.close_gate()

    assert shop.run(shop.job_of(operation)) == GATED
    assert (looks, len(shop.panel.asked)) == ([], asked)

    shop.open_gates()
    shop.run_all()
    assert looks == ["looked"]
    assert shop.log.operation(operation).stage is Stage.SUCCEEDED


def test_what_has_begun_when_the_gate_closes_finishes(shop: Shop) -> None:
    operation = shop.buy()
    shop.panel.meanwhile = shop.close_gate

    assert isinstance(shop.run(shop.job_of(operation)), Completed)

    assert shop.log.operation(operation).stage is Stage.SUCCEEDED


def test_what_fails_when_the_gate_has_closed_is_parked_at_its_next_look(
    shop: Shop,
) -> None:
    operation = shop.buy()
    job = shop.job_of(operation)
    shop.panel.loses = 1
    shop.panel.meanwhile = shop.close_gate
    assert isinstance(shop.run(job), Retry)
    assert shop.log.operation(operation).next_attempt_at is not None

    assert shop.run(job) == GATED

    state, held = shop.log.operation(operation), shop.log.job(job)
    assert (held.attempt, held.gate) == (1, PANEL)
    assert (state.attempts, state.code) == (1, MAINTENANCE_ACTIVE)
    assert state.next_attempt_at is None
    assert len(shop.panel.asked) == 1


def test_a_gate_that_closes_after_it_was_read_lets_the_attempt_begin(
    shop: Shop,
) -> None:
    """It was open when it was looked at; what begins then has begun before."""
    operation = shop.buy()
    shop.log.after_reading.append(shop.close_gate)

    assert isinstance(shop.run(shop.job_of(operation)), Completed)


def test_a_requested_cancel_is_seen_before_the_gate(shop: Shop) -> None:
    operation = shop.buy()
    job = shop.job_of(operation)
    context = shop.claim(job)
    head = shop.log.heads[job]
    asked = jobs.decide(shop.log.job(job), jobs.Cancel())
    state = jobs.fold(asked, shop.log.job(job))
    shop.log.write(
        Change(
            ref=job,
            tenant_id=head.tenant_id,
            expected=state.version - 1,
            events=asked,
            state=state,
        )
    )
    shop.close_gate()

    assert shop.handle(context) == Cancel(code="operator")


def test_an_open_attempt_of_a_lost_holder_ends_with_the_parking(shop: Shop) -> None:
    operation = shop.buy()
    job = shop.job_of(operation)
    lost = shop.claim(job)
    shop.panel.loses = 1
    shop.handle(lost)
    assert shop.log.operation(operation).stage is Stage.RUNNING
    shop.settle(lost, LeaseLost(cause="lease_lost"))
    shop.close_gate()

    shop.run(job)

    assert since_birth(shop.log, operation) == [
        fulfillment.AttemptStarted,
        fulfillment.Interrupted,
        fulfillment.Parked,
    ]
    # The panel may have been asked, so that attempt stays spent (I3).
    assert shop.log.job(job).attempt == 1


def test_credentials_that_are_wrong_are_another_episode(shop: Shop) -> None:
    operation = shop.buy()
    job = shop.job_of(operation)
    off = Park(cause="panel_credentials")
    shop.settle(shop.claim(job), off)
    shop.close_gate()
    shop.run(job)
    shop.open_gates()
    shop.settle(shop.claim(job), off)
    shop.settle(shop.claim(job), off)

    assert [event.cause for event in parkings(shop.log, operation)] == [
        "panel_credentials",
        MAINTENANCE_ACTIVE,
        "panel_credentials",
    ]
    assert shop.log.job(job).parkings == 3


def parkings(log: MemoryLog, operation: Ref) -> list[fulfillment.Parked]:
    told = log.events_of(operation)
    return [event for event in told if isinstance(event, fulfillment.Parked)]
