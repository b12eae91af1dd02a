"""Every fold of records gives what the book tells, at every event of any history."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.event import Event
from domain.recorded import RecordedEvent
from infrastructure.postgres.codec import EVENT_CLASSES
from projections.read_models.audit import Audit
from projections.read_models.deliveries import Deliveries
from projections.read_models.drifts import Drifts
from projections.read_models.entitlements import Entitlements
from projections.read_models.operations import Operations
from projections.read_models.orders import Orders
from projections.read_models.projection import Projection
from tests.golden.pinned import PINNED
from tests.projections.book import (
    audit,
    deliveries,
    drifts,
    entitlements,
    operations,
    orders,
)
from tests.projections.book.told import Rows, Told
from tests.projections.records import histories
from tests.projections.records.histories import (
    LEASED,
    any_order,
    as_told,
    folded,
    history,
    recorded,
)

type Book = Callable[[Iterable[Told]], Rows]


FEW = settings(max_examples=60)


def assert_equal(
    projection: Projection[Any], book: Book, events: list[RecordedEvent]
) -> None:
    """Fail unless both tell the same after each event."""
    for n in range(1, len(events) + 1):
        assert folded(projection, events[:n]) == book(as_told(events[:n]))


@FEW
@given(history(histories.operation_births, any_order(histories.operation_lives)))
def test_an_operation(events: list[RecordedEvent]) -> None:
    assert_equal(Operations(), operations.told, events)


@FEW
@given(history(histories.order_births, histories.order_lives))
def test_an_order(events: list[RecordedEvent]) -> None:
    assert_equal(Orders(), orders.told, events)


@FEW
@given(history(histories.owed, any_order(histories.goods_lives)))
def test_a_delivery(events: list[RecordedEvent]) -> None:
    assert_equal(Deliveries(), deliveries.told, events)


@FEW
@given(history(histories.entitlement_births, any_order(histories.entitlement_lives)))
def test_an_entitlement(events: list[RecordedEvent]) -> None:
    assert_equal(Entitlements(), entitlements.told, events)


@FEW
@given(history(histories.entitlement_births, any_order(histories.standings)))
def test_what_ends_its_disabling(events: list[RecordedEvent]) -> None:
    assert_equal(Entitlements(), entitlements.told, events)


@FEW
@given(history(histories.entitlement_births, any_order(histories.drifts)))
def test_its_drifts(events: list[RecordedEvent]) -> None:
    assert_equal(Drifts(), drifts.told, events)


@pytest.mark.parametrize("part", range(4))
@settings(max_examples=5)
@given(data=st.data())
def test_the_audit_of_one_event_of_every_tag(part: int, data: st.DataObject) -> None:
    events = data.draw(recorded(list(PINNED.values())[part::4]))
    ours = [each for each in events if each.meta.actor.type == "operator"]
    told = audit.told(as_told(events))
    found = folded(Audit(), events)

    # What is written under a lease is no person's, whatever it says.
    assert found == {key: told[key] for key in found}
    assert {each.tag for each in ours if (each.position,) not in found} <= LEASED


def test_the_audit_reads_every_event_but_those_of_workers() -> None:
    read = {each.tag for each in Audit.events}

    assert set(EVENT_CLASSES) - read == LEASED


@pytest.mark.parametrize(
    ("projection", "lives"),
    [
        (Operations(), any_order(histories.operation_lives)),
        (Deliveries(), any_order(histories.goods_lives)),
        (Orders(), st.tuples(histories.fulfilled, histories.refunded).map(list)),
        (Entitlements(), any_order(histories.entitlement_lives)),
    ],
    ids=lambda it: getattr(it, "name", ""),
)
@settings(max_examples=5)
@given(data=st.data())
def test_a_stream_whose_birth_is_unknown_has_no_row(
    projection: Projection[Any],
    lives: st.SearchStrategy[list[Event]],
    data: st.DataObject,
) -> None:
    """History is never refused, not even one that begins in the middle."""
    events = data.draw(recorded(data.draw(lives)))

    assert folded(projection, events) == {}
