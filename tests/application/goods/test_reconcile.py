"""What became of a purchase is asked where it can be answered; nothing is bought."""

from datetime import timedelta

import msgspec
import pytest

from application.goods.port import (
    Absent,
    Accepted,
    LookupAnswer,
    Rejected,
    Unconfigured,
    Unknown,
)
from application.policies import GOODS_DELIVERY, GOODS_RECONCILE
from application.unit import Written, changed
from domain.goods import aggregate
from domain.goods.commands import EndSender, GoodsCommand, OpenReview, Restore
from domain.goods.state import IN_FLIGHT, Stage, Standing
from domain.jobs.outcome import Completed, Gated, Snooze
from domain.jobs.verdict import LeaseLost
from tests.application.goods.world import (
    HONEST,
    STRICT,
    Seller,
    World,
)
from tests.application.memory import MemoryContext

LOOKED_UP = msgspec.structs.replace(HONEST, key_lifetime=None)
"""It knows every key that it has bought under, and enforces no expiry."""


def lost(seller: Seller, *, is_bought: bool) -> World:
    """Return what a worker leaves that is killed in its call: the lease has ended."""
    world = World(seller)
    world.seller.buys.append(is_bought)
    context = world.claim()
    world.handle(context)
    world.log.now += timedelta(seconds=150)
    result = world.settle(context, LeaseLost(cause="process_gone"))
    assert isinstance(result, Written)
    return world


def tell(world: World, *commands: GoodsCommand) -> None:
    head, state = world.log.heads[world.delivery], world.state()
    for command in commands:
        told = aggregate.decide(state, command)
        state = aggregate.fold(told, state)
        world.log.write(changed(world.delivery, head, told, state))
        head = world.log.heads[world.delivery]


def bury(world: World) -> None:
    """Prove that whoever has asked is dead, and that nothing of his is on its way."""
    (asking,) = world.state().senders
    at = world.log.now - IN_FLIGHT
    tell(world, EndSender(sender=asking.sender, how="process_gone", at=at))


def test_what_was_bought_before_the_crash_is_found_and_not_bought_again() -> None:
    world = lost(Seller(LOOKED_UP), is_bought=True)

    world.run_until(Stage.DELIVERED)

    assert world.seller.ledger.total() == 1
    assert len(world.seller.requests) == 1


def test_what_was_not_bought_is_bought_once_its_sender_is_proved_dead() -> None:
    world = lost(Seller(LOOKED_UP), is_bought=False)
    bury(world)

    world.run_until(Stage.DELIVERED)

    assert +world.seller.ledger == {f"goods:{world.order}:1:2": 1}
    assert (world.state().decision, world.state().purchases) == (2, 2)


def test_an_absence_proves_nothing_while_the_sender_may_live() -> None:
    world = lost(Seller(LOOKED_UP), is_bought=False)

    world.run_until(Stage.NEEDS_REVIEW)

    assert len(world.seller.requests) == 1
    assert world.state().code == "sender_not_gone"
    assert len(world.state().senders) == 1, "which bars what could buy twice"


def test_a_sender_whose_death_is_proved_while_it_is_waited_for_ends_the_wait() -> None:
    world = lost(Seller(LOOKED_UP), is_bought=False)
    for _ in range(3):
        world.run()
    assert world.state().stage is Stage.SUBMITTED
    bury(world)

    world.run_until(Stage.DELIVERED)

    assert world.seller.ledger.total() == 1


def test_an_absence_is_conclusive_once_the_expiry_has_passed() -> None:
    world = lost(Seller(STRICT), is_bought=False)

    world.run_until(Stage.DELIVERED)

    submitted = world.state().expires_at
    assert submitted is not None
    assert world.seller.ledger.total() == 1
    assert world.state().decision == 2


def test_a_purchase_that_expires_is_not_bought_anew_before_it_has() -> None:
    world = lost(Seller(STRICT), is_bought=False)
    expires_at = world.state().expires_at
    assert expires_at is not None

    while len(world.seller.requests) == 1:
        world.run()

    assert world.log.now >= expires_at + timedelta(seconds=60)


def test_six_purchases_that_were_all_absent_give_the_money_back() -> None:
    world = World(Seller(STRICT))
    world.seller.answers.extend([Unknown("timeout")] * 6)
    world.seller.buys.extend([False] * 6)

    world.run_until(Stage.REFUNDED, most=100)

    assert len(world.seller.requests) == 6
    assert world.state().refunded_minor == 70
    assert world.live() == []


def test_what_the_provider_had_refused_for_good_gives_the_money_back() -> None:
    world = lost(Seller(LOOKED_UP), is_bought=False)
    bury(world)
    world.seller.looks.append(Rejected("permanent", "gone"))

    world.run_until(Stage.REFUNDED)

    assert world.state().refunded_minor == 70


def test_what_is_taken_is_polled_ever_rarer() -> None:
    world = World(Seller(LOOKED_UP))
    world.seller.answers.append(Accepted("r1"))
    world.seller.looks.extend([Accepted("r1")] * 12)
    pauses: list[timedelta] = []
    world.run()
    world.run()
    for _ in range(12):
        outcome = world.run()
        assert isinstance(outcome, Snooze)
        pauses.append(outcome.until - world.log.now)

    assert pauses == sorted(pauses)
    assert pauses[-1] > timedelta(minutes=20)
    assert world.tags().count("goods.reconciled") <= 1
    (job,) = world.live()
    assert world.log.job(job).attempt == 0


def test_after_a_day_without_a_clear_answer_a_person_is_asked() -> None:
    world = lost(Seller(LOOKED_UP), is_bought=True)
    world.seller.looks.extend([Unknown("http_503")] * 100)

    world.run_until(Stage.NEEDS_REVIEW, most=100)

    assert world.state().code == "no_answer_in_time"
    assert world.tags().count("goods.reconciled") <= 1


def test_a_provider_that_was_taken_away_leaves_it_open() -> None:
    world = lost(Seller(LOOKED_UP), is_bought=True)
    world.run()
    world.unconfigured = Unconfigured("provider_unconfigured", "disabled")

    for _ in range(3):
        assert isinstance(world.run(), Snooze)

    assert world.state().standing is Standing.UNKNOWN
    world.unconfigured = None
    world.run_until(Stage.DELIVERED)


def test_a_closed_gate_holds_looks_as_well() -> None:
    world = lost(Seller(LOOKED_UP), is_bought=True)
    world.run()
    world.log.gates["goods:starshop"] = "maintenance_active"

    assert isinstance(world.run(), Gated)
    assert world.seller.looked == []


def test_what_a_restore_may_have_lost_is_looked_up_under_every_key() -> None:
    world = World(Seller(STRICT))
    tell(world, Restore(world.log.now))
    world.seller.ledger[f"goods:{world.order}:1:4"] = 1

    world.run_until(Stage.DELIVERED)

    assert f"goods:{world.order}:1:4" in world.seller.looked
    assert world.seller.requests == [], "it was bought before the restore"


def test_a_review_is_looked_at_and_stays_one_without_a_clear_answer() -> None:
    world = lost(Seller(LOOKED_UP), is_bought=False)
    world.run()
    (job,) = world.live(GOODS_RECONCILE)
    tell(world, OpenReview("an_operator"))

    outcome = world.run(job)

    assert isinstance(outcome, Completed)
    assert world.state().stage is Stage.NEEDS_REVIEW
    assert len(world.seller.requests) == 1


def test_a_review_that_was_bought_after_all_is_delivered() -> None:
    world = lost(Seller(LOOKED_UP), is_bought=True)
    world.run()
    (job,) = world.live(GOODS_RECONCILE)
    tell(world, OpenReview("an_operator"))

    world.run(job)

    assert world.state().stage is Stage.DELIVERED


def test_an_absence_of_before_somebody_else_moved_it_proves_nothing() -> None:
    world = lost(Seller(LOOKED_UP), is_bought=False)
    bury(world)
    world.run()
    context = world.claim()
    outcome = world.handle(context)
    tell(world, Restore(world.log.now))

    world.settle(context, outcome)

    assert world.state().is_restored
    assert world.state().stage is Stage.SUBMITTED
    assert world.live(GOODS_RECONCILE) != []


def test_a_look_for_what_is_pending_anew_gives_birth_to_the_job_that_buys() -> None:
    world = lost(Seller(LOOKED_UP), is_bought=False)
    bury(world)
    world.run()
    (job,) = world.live(GOODS_RECONCILE)

    world.run(job)

    assert world.state().stage is Stage.PENDING
    assert len(world.live(GOODS_DELIVERY)) == 1
    assert world.live(GOODS_RECONCILE) == []


@pytest.mark.parametrize("answer", [Absent(), Unknown("x"), Accepted("r")])
def test_a_look_never_sends_a_purchase(answer: LookupAnswer) -> None:
    world = lost(Seller(LOOKED_UP), is_bought=False)
    world.run()
    world.seller.looks.append(answer)

    world.run()

    assert len(world.seller.requests) == 1


def test_the_clock_that_enforces_an_expiry_says_whether_it_has_passed() -> None:
    world = lost(Seller(STRICT), is_bought=False)
    expires_at = world.state().expires_at
    assert expires_at is not None
    world.run()
    world.seller.looks.append(Absent(expires_at - timedelta(seconds=1)))
    world.log.now = expires_at + timedelta(hours=1)

    world.run()

    assert world.state().stage is Stage.SUBMITTED, "its clock is behind ours"
    world.seller.looks.append(Absent(expires_at))
    world.run()
    assert world.state().stage is Stage.PENDING


def test_a_provider_whose_clock_never_gets_there_is_asked_ever_rarer() -> None:
    world = lost(Seller(STRICT), is_bought=False)
    long_ago = world.log.now - timedelta(days=400)
    world.seller.looks.extend([Absent(long_ago)] * 200)

    world.run_until(Stage.NEEDS_REVIEW, most=100)

    assert world.state().code == "no_answer_in_time"
    assert len(world.seller.requests) == 1


def test_keys_that_never_fit_into_one_run_are_asked_for_ever_rarer() -> None:
    world = World(Seller(STRICT))
    tell(world, Restore(world.log.now))
    world.run()

    for _ in range(100):
        if world.state().stage is Stage.NEEDS_REVIEW:
            break
        context = world.claim()

        def slow(it: MemoryContext = context) -> None:
            it.seconds_left = 0.0

        world.seller.meanwhile = slow
        world.settle(context, world.handle(context))

    assert world.state().code == "no_answer_in_time"
    assert world.seller.requests == []


def test_who_never_asked_says_so_in_a_review_as_well() -> None:
    world = World(Seller(LOOKED_UP), is_journal_full=True)
    context = world.claim()
    outcome = world.handle(context)
    tell(world, OpenReview("an_operator"))
    assert len(world.state().senders) == 1

    world.settle(context, outcome, has_called=False)

    assert world.state().stage is Stage.NEEDS_REVIEW
    assert world.state().senders == (), "so nothing bars what a person decides"


def test_what_a_restore_has_lost_has_not_expired_before_the_provider_says_so() -> None:
    """Who was frozen may ask as long as the provider's clock lets him begin."""
    world = World(Seller(STRICT))
    tell(world, Restore(world.log.now))
    world.run()
    expired = world.log.now + timedelta(minutes=3)
    world.log.now += timedelta(hours=1)
    world.seller.looks.extend([Absent(expired - timedelta(seconds=1))] * 6)

    world.run()

    assert (world.state().stage, world.state().is_restored) == (Stage.SUBMITTED, True)
    world.seller.looks.extend([Absent(expired)] * 6)
    world.run()
    assert world.state().stage is Stage.PENDING
