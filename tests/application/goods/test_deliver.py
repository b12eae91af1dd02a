"""A line of goods is bought: on record first, asked once, and what is said stands."""

from datetime import timedelta

import msgspec
import pytest

from application.goods.port import (
    Accepted,
    Confirmed,
    Guard,
    Rejected,
    Unavailable,
    Unconfigured,
    Unknown,
)
from application.policies import GOODS_DELIVERY, GOODS_RECONCILE, ORDER_COMPLETION
from application.unit import Refused, changed
from domain.goods import aggregate
from domain.goods.commands import Restore
from domain.goods.events import PurchaseSubmitted
from domain.goods.state import Stage, Standing
from domain.jobs.aggregate import Job
from domain.jobs.outcome import Cancel, Completed, Gated, Retry, Snooze
from domain.jobs.verdict import Interrupted, LeaseLost
from domain.stream import Ref
from tests.application.goods.world import (
    BLIND,
    HONEST,
    OWNER,
    STRICT,
    Seller,
    World,
)

MINUTE = timedelta(minutes=1)


KEYED = msgspec.structs.replace(
    HONEST, can_look_up=False, is_lookup_authoritative=False
)
"""One effect per key, and nothing can be looked up."""


def blind(*answers: object) -> World:
    world = World(Seller(BLIND))
    world.seller.answers.extend(answers)
    return world


def test_a_line_is_bought_once_and_delivered() -> None:
    world = World()

    world.run()

    assert world.state().stage is Stage.DELIVERED
    assert world.tags()[1:] == [
        "goods.purchase_submitted",
        "goods.purchase_confirmed",
        "goods.delivered",
    ]
    assert dict(world.seller.ledger) == {f"goods:{world.order}:1:1": 1}
    assert waiting(world) == [ORDER_COMPLETION]


def waiting(world: World) -> list[str]:
    states = [head.state for head in world.log.heads.values()]
    return [it.kind for it in states if isinstance(it, Job) and it.stage == "waiting"]


def test_the_submission_and_the_journal_come_before_the_request() -> None:
    world = World()
    seen: list[object] = []

    def look() -> None:
        seen.append((world.tags()[-1], list(world.journal)))

    world.seller.meanwhile = look

    world.run()

    key = f"goods:{world.order}:1:1"
    assert seen == [("goods.purchase_submitted", [(key, 1)])]


def test_one_purchase_asks_for_all_pieces_of_the_line() -> None:
    world = World()

    world.run()

    (request,) = world.seller.requests
    assert (request.quantity, request.cost_minor, request.recipient) == (
        2,
        60,
        "anna_k",
    )


def test_the_sender_is_on_record_under_the_boot_of_its_claim() -> None:
    world = World()

    world.run()

    submitted = world.log.events_of(world.delivery)[1]
    assert isinstance(submitted, PurchaseSubmitted)
    assert submitted.sender.boot == OWNER.boot
    assert submitted.deadline == world.log.now + timedelta(seconds=120)


# Requirements 9.1, in the order of its checks.


def test_a_delivery_that_nobody_owes_is_done() -> None:
    world = World()
    context = world.claim()
    del world.log.heads[world.delivery]

    assert world.handle(context) == Completed(result={"ended": "missing"})


@pytest.mark.parametrize(
    "stage",
    [
        Stage.DELIVERED,
        Stage.FAILED,
        Stage.CANCELLED,
        Stage.REFUNDED,
        Stage.NEEDS_REVIEW,
    ],
)
def test_a_replay_of_what_has_ended_asks_nobody(stage: Stage) -> None:
    world = World()
    context = world.claim()
    set_state(world, world.delivery, stage=stage)

    assert world.handle(context) == Completed(result={"ended": stage})
    assert world.seller.requests == []


def set_state(world: World, ref: Ref, **members: object) -> None:
    head = world.log.heads[ref]
    state = msgspec.structs.replace(head.state, **members)
    world.log.heads[ref] = msgspec.structs.replace(head, state=state)


def test_six_purchases_are_all_there_are() -> None:
    world = blind(*[Unavailable("retryable", "http_429")] * 6)
    world.seller.buys.extend([False] * 6)

    world.run_until(Stage.REFUNDED)

    assert len(world.seller.requests) == 6
    assert (world.state().refunded_minor, world.state().code) == (70, "http_429")
    assert world.live() == []


def test_a_provider_that_is_not_configured_costs_no_purchase_and_no_attempt() -> None:
    world = World(unconfigured=Unconfigured("provider_unconfigured", "no credential"))

    for _ in range(3):
        outcome = world.run()
        assert isinstance(outcome, Snooze)
        assert outcome.until == world.log.now + MINUTE

    assert world.tags()[1:] == ["goods.deferred"]
    (job,) = world.live()
    assert (world.state().purchases, world.log.job(job).attempt) == (0, 0)


def test_a_closed_gate_parks_the_job_once_and_asks_nobody() -> None:
    world = World()
    world.log.gates["goods:starshop"] = "maintenance_active"

    outcome = world.run()

    assert outcome == Gated(gate="goods:starshop", cause="maintenance_active")
    assert (world.tags(), world.seller.requests) == (["goods.owed"], [])


def test_what_must_not_be_spent_is_not_submitted() -> None:
    world = World()
    world.barred = Guard(code="spend_limit", until=world.log.now + 5 * MINUTE)

    outcome = world.run()

    assert isinstance(outcome, Snooze)
    assert world.tags()[1:] == ["goods.deferred"]
    assert world.state().deferred_code == "spend_limit"


def test_what_the_database_refuses_is_not_asked_for() -> None:
    world = World(refused=Refused("quarantined"))

    world.run()

    assert (world.state().deferred_code, world.seller.requests) == ("quarantined", [])
    assert world.journal == []


def test_a_journal_that_cannot_be_written_takes_the_submission_back() -> None:
    world = World(is_journal_full=True)

    outcome = world.run()

    assert isinstance(outcome, Snooze)
    assert world.seller.requests == []
    assert world.tags()[-1] == "goods.purchase_withdrawn"
    assert (world.state().stage, world.state().purchases) == (Stage.PENDING, 0)
    world.is_journal_full = False
    world.run()
    assert world.state().stage is Stage.DELIVERED


def test_a_lease_without_room_for_the_call_takes_the_submission_back() -> None:
    world = World()
    context = world.claim()
    context.seconds_left = 9.0

    world.settle(context, world.handle(context), has_called=False)

    assert world.seller.requests == []
    assert (world.state().stage, world.state().purchases) == (Stage.PENDING, 0)
    assert world.live() != []


def test_a_requested_cancel_is_met_before_anything_is_submitted() -> None:
    world = World()
    context = world.claim()
    (job,) = world.live()
    set_state(world, job, cancel_requested=True)

    outcome = world.handle(context)
    assert outcome == Cancel(code="operator")
    world.settle(context, outcome, has_called=False)

    assert world.tags()[1:] == ["goods.cancelled", "goods.refunded"]
    assert world.seller.requests == []


def test_a_stranger_s_job_moves_nothing() -> None:
    world = World()
    (job,) = world.live()
    set_state(world, job, serial_key=None)

    assert world.run() == Completed(result={"ended": "not_its_job"})
    assert world.tags() == ["goods.owed"]


# What the provider says, and what follows.


def test_a_refusal_that_may_pass_is_bought_again_after_the_pause() -> None:
    world = blind(Unavailable("retryable", "http_429"), Confirmed("r"))
    world.seller.buys.append(False)

    outcome = world.run()

    assert isinstance(outcome, Snooze)
    assert outcome.until == world.state().next_at
    assert outcome.until - world.log.now == pytest.approx(2 * MINUTE, abs=MINUTE / 60)
    world.run()
    assert world.state().stage is Stage.DELIVERED
    assert sorted(world.seller.ledger) == [f"goods:{world.order}:1:2"]


def test_pauses_double_from_one_refusal_to_the_next() -> None:
    world = blind(*[Unavailable("provider_balance", "balance")] * 6)
    world.seller.buys.extend([False] * 6)
    pauses: list[int] = []
    for _ in range(5):
        outcome = world.run()
        assert isinstance(outcome, Snooze)
        pauses.append(round((outcome.until - world.log.now) / MINUTE))

    assert pauses == [2, 4, 8, 16, 32]


def test_the_provider_s_retry_after_is_never_undercut() -> None:
    world = blind(Unavailable("provider_unavailable", "http_503", 600.0))
    world.seller.buys.append(False)

    outcome = world.run()

    assert isinstance(outcome, Snooze)
    assert outcome.until - world.log.now >= 10 * MINUTE


def test_a_refusal_for_good_gives_the_money_back() -> None:
    world = blind(Rejected("recipient_invalid", "invalid_username"))
    world.seller.buys.append(False)

    outcome = world.run()

    assert isinstance(outcome, Completed)
    assert world.tags()[-2:] == ["goods.failed", "goods.refunded"]
    assert world.state().refunded_minor == 70


@pytest.mark.parametrize("answer", [Unknown("http_502"), RuntimeError("boom"), "yes"])
def test_what_a_blind_provider_leaves_open_waits_for_a_person(answer: object) -> None:
    world = blind(answer)

    world.run()

    assert world.state().stage is Stage.NEEDS_REVIEW
    assert world.state().senders == (), "the call is over, and it says so"
    assert world.live() == []
    assert len(world.seller.requests) == 1


def test_an_adapter_that_raises_counts_as_unknown() -> None:
    world = blind(RuntimeError("secret token"))

    world.run()

    assert world.state().code == "adapter_error"


def test_what_can_be_looked_up_is_handed_to_the_job_that_looks() -> None:
    world = World(Seller(STRICT))
    world.seller.answers.append(Unknown("gateway_unreachable"))

    outcome = world.run()

    assert isinstance(outcome, Completed)
    (job,) = world.live()
    assert world.log.job(job).kind == GOODS_RECONCILE
    assert world.state().standing is Standing.UNKNOWN


def test_what_was_taken_is_looked_up_by_its_reference() -> None:
    world = World(Seller(STRICT))
    world.seller.answers.append(Accepted("r1"))

    world.run_until(Stage.DELIVERED)

    assert world.seller.ledger.total() == 1
    assert len(world.seller.requests) == 1
    assert world.state().reference == "found"


def test_what_was_taken_and_cannot_be_looked_up_waits_for_a_person() -> None:
    world = blind(Accepted("r1"))

    world.run()

    assert (world.state().stage, world.state().code) == (
        Stage.NEEDS_REVIEW,
        "poll_unsupported",
    )
    assert world.state().reference == "r1"


def test_a_repeat_sends_the_same_request_under_the_same_key() -> None:
    keyed = World(Seller(KEYED))
    keyed.seller.answers.append(Unknown("timeout"))

    keyed.run_until(Stage.DELIVERED)

    first, second = keyed.seller.requests
    assert first == second
    assert keyed.seller.ledger.total() == 1
    assert (keyed.state().purchases, keyed.state().decision) == (2, 1)


def test_a_refusal_of_a_repeat_says_nothing_of_the_first_request() -> None:
    keyed = World(Seller(KEYED))
    keyed.seller.answers.extend(
        [Unknown("timeout"), *[Unavailable("retryable", "http_429")] * 5]
    )

    keyed.run_until(Stage.NEEDS_REVIEW)

    assert keyed.state().decision == 1, "never another decision to buy"
    assert keyed.seller.ledger.total() == 1
    assert keyed.state().refunded_minor is None


# Whatever ends the run.


def test_a_lost_lease_leaves_it_unknown_and_never_asks_again_blindly() -> None:
    world = World(Seller(BLIND))
    context = world.claim()
    world.seller.meanwhile = lambda: world.settle(
        context, LeaseLost(cause="lease_lost")
    )

    late = world.handle(context)

    assert world.settle(context, late) == Refused("lease_lost")
    assert world.state().standing is Standing.UNKNOWN
    assert len(world.state().senders) == 1, "it may still be asking"
    world.run_until(Stage.NEEDS_REVIEW)
    assert len(world.seller.requests) == 1


def test_a_job_given_back_before_the_call_takes_the_submission_back() -> None:
    world = World()
    context = world.claim()
    world.handle(context)

    world.settle(context, Interrupted(cause="shutdown"), has_called=False)

    assert world.tags()[-1] == "goods.purchase_withdrawn"


def test_a_job_given_back_after_the_call_may_have_bought() -> None:
    world = World()
    context = world.claim()
    world.handle(context)

    world.settle(context, Interrupted(cause="cell_not_ready"), has_called=True)

    assert world.state().standing is Standing.UNKNOWN


def test_a_lost_lease_before_the_submission_costs_no_attempt() -> None:
    world = World()
    context = world.claim()

    world.settle(context, LeaseLost(cause="process_gone"), has_called=False)

    (job,) = world.live()
    assert world.log.job(job).attempt == 0
    assert world.tags() == ["goods.owed"]


def test_a_timeout_after_the_submission_is_unknown_and_counts() -> None:
    world = World()
    context = world.claim()
    world.handle(context)

    world.settle(context, Retry(code="handler_timeout"))

    (job,) = world.live()
    assert world.log.job(job).attempt == 1
    assert (world.state().standing, world.state().code) == (
        Standing.UNKNOWN,
        "handler_timeout",
    )


def test_an_answer_is_not_lost_to_whoever_moved_the_delivery_meanwhile() -> None:
    world = World()
    context = world.claim()
    outcome = world.handle(context)
    head = world.log.heads[world.delivery]
    events = aggregate.decide(world.state(), Restore(world.log.now))
    state = aggregate.fold(events, world.state())
    world.log.write(changed(world.delivery, head, events, state))

    world.settle(context, outcome)

    assert world.state().stage is Stage.DELIVERED
    assert "goods.purchase_confirmed" in world.tags()
    assert world.live(GOODS_DELIVERY) == []
