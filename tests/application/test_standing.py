"""Facts that a holder found out stand when their streams have moved (ADR 0010)."""

from datetime import UTC, datetime
from uuid import UUID

from application.fulfillment.standing import standing
from application.unit import Head, guard
from domain.entitlement import aggregate as entitlements
from domain.entitlement.commands import AccessLine, Observe, Settle
from domain.entitlement.state import Entitlement, Observed
from domain.fulfillment import aggregate as operations
from domain.fulfillment.aggregate import FulfillmentOperation
from domain.fulfillment.commands import StartAttempt
from domain.fulfillment.events import Succeeded
from domain.order import aggregate as orders
from domain.order.aggregate import Fulfill, Order
from domain.stream import Change, Ref, State, StreamKind

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ENTITLEMENT = Ref(StreamKind.ENTITLEMENT, UUID(int=1))
ORDER = Ref(StreamKind.ORDER, UUID(int=2))
OPERATION = Ref(StreamKind.OPERATION, UUID(int=3))
OBSERVED = Observed(
    panel_user_id=7,
    status="ACTIVE",
    expire_at=NOW,
    traffic_limit_bytes=0,
    device_limit=0,
    squads=0,
)


def settled(entitlement: Entitlement) -> Entitlement:
    line = AccessLine(
        days=30,
        ends_at=None,
        grace_seconds=0,
        traffic_bytes=None,
        device_limit=None,
        squad_ids=(),
        reset_traffic=False,
    )
    command = Settle(
        order=ORDER.id,
        settled_at=NOW,
        line=line,
        customer_id="c",
        slot=1,
        username="u",
        legacy_username=None,
    )
    for event in entitlements.decide(entitlement, command):
        entitlement = entitlements.evolve(entitlement, event)
    return entitlement


def head(state: State) -> Head:
    return Head(tenant_id="default", state=state, correlation_id="c")


def seen_by_a_holder(entitlement: Entitlement) -> Change:
    events = entitlements.decide(entitlement, Observe(OBSERVED))
    return Change(
        ref=ENTITLEMENT,
        tenant_id="default",
        expected=entitlement.version,
        events=events,
        state=entitlements.evolve(entitlement, events[0]),
    )


def test_a_change_that_is_current_stands_as_it_is() -> None:
    entitlement = settled(Entitlement())
    change = seen_by_a_holder(entitlement)

    assert standing({ENTITLEMENT: head(entitlement)}, change) is change


def test_what_was_observed_stands_after_a_further_settlement() -> None:
    before = settled(Entitlement())
    change = seen_by_a_holder(before)
    after = settled(before)

    stands = standing({ENTITLEMENT: head(after)}, change)

    assert stands is not None
    assert stands.expected == after.version
    assert stands.events == change.events
    assert isinstance(stands.state, Entitlement)
    assert stands.state.observed == OBSERVED
    assert stands.state.desired_version == 2


def test_an_observation_that_is_known_by_now_adds_nothing() -> None:
    before = settled(Entitlement())
    change = seen_by_a_holder(before)
    known = entitlements.evolve(
        before, entitlements.decide(before, Observe(OBSERVED))[0]
    )

    stands = standing({ENTITLEMENT: head(known)}, change)

    assert stands is not None
    assert stands.events == ()


def test_an_order_that_is_fulfilled_by_now_is_not_fulfilled_twice() -> None:
    paid = Order(version=1, stage=orders.Stage.PAID)
    events = orders.decide(paid, Fulfill(OPERATION.id))
    done = orders.evolve(paid, events[0])
    change = Change(
        ref=ORDER, tenant_id="default", expected=1, events=events, state=done
    )

    stands = standing({ORDER: head(done)}, change)

    assert stands is not None
    assert stands.events == ()


def test_a_decision_about_an_operation_does_not_stand_once_it_has_moved() -> None:
    pending = FulfillmentOperation(version=1, stage=operations.Stage.PENDING)
    running = operations.evolve(
        pending, operations.decide(pending, StartAttempt(("create_user",)))[0]
    )
    change = Change(
        ref=OPERATION,
        tenant_id="default",
        expected=1,
        events=(Succeeded(attempt=1, observed=OBSERVED),),
        state=running,
    )

    assert standing({OPERATION: head(running)}, change) is None


def test_nothing_stands_about_a_stream_that_is_gone() -> None:
    assert standing({}, seen_by_a_holder(settled(Entitlement()))) is None


def test_a_guard_stands_only_at_the_version_that_was_read() -> None:
    """What a handler decided beside it must be decided again."""
    read = guard(ORDER, "default", 1)
    as_read, moved = Order(version=1), Order(version=2)

    assert standing({ORDER: head(as_read)}, read) is read
    assert standing({ORDER: head(moved)}, read) is None
    assert standing({}, read) is None
