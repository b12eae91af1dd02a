"""The ten faults of the original's goods worker (requirements 9.7), by number."""

from datetime import timedelta

import msgspec
import pytest

from application.goods.port import Accepted, Guard, Unavailable, Unknown
from application.policies import GOODS_DELIVERY
from application.unit import Refused, changed
from domain.event import Actor
from domain.goods import aggregate
from domain.goods.commands import Decide
from domain.goods.state import Stage, Standing
from domain.jobs.outcome import Gated, Retry, Snooze
from domain.jobs.verdict import LeaseLost
from domain.stream import Ref
from tests.application.goods.world import BLIND, STRICT, Seller, World

REFUSED = Unavailable("retryable", "http_429")


def blind(*answers: object) -> World:
    world = World(Seller(BLIND))
    world.seller.answers.extend(answers)
    world.seller.buys.extend(not isinstance(it, Unavailable) for it in answers)
    return world


def set_state(world: World, ref: Ref, **members: object) -> None:
    head = world.log.heads[ref]
    state = msgspec.structs.replace(head.state, **members)
    world.log.heads[ref] = msgspec.structs.replace(head, state=state)


def test_9_7_1_a_refusal_keeps_the_job_and_the_next_purchase_is_minutes_away() -> None:
    world = blind(REFUSED)
    (before,) = world.live()
    asked_at = world.log.now

    world.run()

    assert world.live() == [before], "the same job goes on"
    world.run()
    assert world.state().stage is Stage.DELIVERED
    assert world.log.now - asked_at < timedelta(minutes=3)


def test_9_7_2_a_call_ends_before_its_run_and_a_run_before_its_lease() -> None:
    world = World()
    kind = world.kinds[GOODS_DELIVERY]

    assert kind.call_seconds < kind.deadline_seconds < kind.lease_seconds


def test_9_7_2_a_run_that_timed_out_does_not_buy_again() -> None:
    world = blind()
    context = world.claim()
    world.handle(context)

    world.settle(context, Retry(code="handler_timeout"))
    world.run_until(Stage.NEEDS_REVIEW)

    assert world.seller.ledger.total() == 1
    assert len(world.seller.requests) == 1


def test_9_7_3_a_crash_between_submission_and_record_is_reviewed_not_sent_again() -> (
    None
):
    world = blind()
    context = world.claim()
    world.handle(context)

    world.settle(context, LeaseLost(cause="process_gone", died=True))
    world.run_until(Stage.NEEDS_REVIEW)

    assert len(world.seller.requests) == 1
    assert world.state().standing is Standing.UNKNOWN
    assert world.live() == []


def test_9_7_4_a_run_that_comes_early_does_not_bypass_the_pause() -> None:
    world = blind(REFUSED)
    world.run()
    due = world.state().next_at
    assert due is not None
    (job,) = world.live()
    set_state(world, job, run_at=world.log.now)

    outcome = world.run()

    assert isinstance(outcome, Snooze)
    assert outcome.until == due
    assert len(world.seller.requests) == 1


def test_9_7_5_the_reference_of_what_was_taken_is_kept_and_asked_for() -> None:
    world = World(Seller(STRICT))
    world.seller.answers.append(Accepted("r-17"))

    world.run()

    assert world.state().reference == "r-17"
    world.run_until(Stage.DELIVERED)
    assert len(world.seller.requests) == 1, "it is looked up, never bought again"
    assert world.seller.looked == [f"goods:{world.order}:1:1"]


def test_9_7_6_six_purchases_with_one_unknown_give_no_money_back() -> None:
    keyed = msgspec.structs.replace(BLIND, key_lifetime=timedelta(hours=24))
    world = World(Seller(keyed))
    world.seller.answers.extend([Unknown("timeout"), *[REFUSED] * 5])

    world.run_until(Stage.NEEDS_REVIEW)

    assert world.state().purchases == 6
    assert world.state().refunded_minor is None
    assert "goods.refunded" not in world.tags()


def test_9_7_6_six_purchases_that_were_all_refused_give_it_back() -> None:
    world = blind(*[REFUSED] * 6)

    world.run_until(Stage.REFUNDED)

    assert len(world.seller.requests) == 6


def test_9_7_7_what_goes_back_is_what_was_paid_after_the_discount() -> None:
    world = blind(*[REFUSED] * 6)
    state = world.state()
    assert state.price_minor * state.quantity == 80

    world.run_until(Stage.REFUNDED)

    assert world.state().refunded_minor == state.paid_minor == 70


def test_9_7_8_the_quantity_is_bought_and_limits_are_asked_about_all_of_it() -> None:
    world = World()
    world.barred = Guard(code="spend_limit", until=world.log.now)

    world.run()  # `World.barring` refuses any cost but that of both pieces

    assert world.seller.requests == []
    world.barred = None
    world.run_until(Stage.DELIVERED)
    (request,) = world.seller.requests
    assert (request.quantity, request.cost_minor) == (2, 60)
    assert len(world.told) == 1, "and the provider's health hears of every answer"


def test_9_7_8_the_database_refuses_what_passed_the_first_look() -> None:
    world = World(refused=Refused("spend_limit"))

    world.run()

    assert world.seller.requests == []
    assert world.state().deferred_code == "spend_limit"


@pytest.mark.parametrize("is_cancelled", [True, False])
def test_9_7_9_what_a_person_decides_gives_the_money_back(
    is_cancelled: bool,  # noqa: FBT001 - generated
) -> None:
    world = blind(Unknown("http_502"))
    if is_cancelled:
        context = world.claim()
        (job,) = world.live()
        set_state(world, job, cancel_requested=True)
        world.settle(context, world.handle(context), has_called=False)
    else:
        world.run()
        decide = Decide(
            verdict="not_purchased",
            evidence="the gateway's ledger has nothing",
            by=Actor("operator", "ann"),
            is_override=False,
            needs_second=False,
        )
        told = aggregate.decide(world.state(), decide)
        state = aggregate.fold(told, world.state())
        head = world.log.heads[world.delivery]
        world.log.write(changed(world.delivery, head, told, state))

    assert world.state().refunded_minor == 70
    assert world.tags()[-1] == "goods.refunded"


def test_9_7_10_maintenance_of_the_provider_holds_purchases() -> None:
    world = World()
    world.log.gates["goods:starshop"] = "maintenance_active"

    assert isinstance(world.run(), Gated)

    assert world.seller.requests == []
    (job,) = world.live()
    assert (world.log.job(job).gate, world.log.job(job).attempt) == (
        "goods:starshop",
        0,
    )
