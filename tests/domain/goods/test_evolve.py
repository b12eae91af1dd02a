"""History is never rejected, whatever it says; decisions keep what they promise.

Here everything is generated, sense or not; what makes sense is in `test_world`.
"""

from typing import Any, get_args

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from domain.errors import DomainError
from domain.event import Instant
from domain.goods.aggregate import decide, evolve, fold
from domain.goods.commands import Cancel, Decide, GoodsCommand, Owe
from domain.goods.events import GoodsEvent, PurchaseSubmitted, Refunded
from domain.goods.state import (
    FINAL,
    MOST_PURCHASES,
    GoodsDelivery,
    Stage,
    Standing,
)
from tests.domain.goods.deliveries import AT, OWE, after, owed

FEW = st.integers(0, 7)
INSTANTS = st.sampled_from([AT, after(1), after(30), after(600)])
WORDS = st.sampled_from(
    [
        "",
        "retryable",
        "permanent",
        "timeout",
        "delivered",
        "accepted",
        "refused",
        "absent",
        "unclear",
        "not_purchased",
        "buy_again",
    ]
)


def _any_of(union: Any) -> st.SearchStrategy[Any]:  # noqa: ANN401 - a type alias
    return st.one_of(*(_struct(each) for each in get_args(union.__value__)))


def _struct(struct: type[msgspec.Struct]) -> st.SearchStrategy[Any]:
    members = {
        field.name: _member(field.type) for field in msgspec.structs.fields(struct)
    }
    return st.builds(struct, **members)


def _member(found: Any) -> st.SearchStrategy[Any]:  # noqa: ANN401 - any annotation
    if found == Instant:
        return INSTANTS
    if type(None) in get_args(found):
        inner = next(each for each in get_args(found) if each is not type(None))
        return st.none() | _member(inner)
    if found is int:
        return FEW
    if found is str:
        return WORDS
    if isinstance(found, type) and issubclass(found, msgspec.Struct):
        return _struct(found)
    return st.from_type(found)


EVENTS: st.SearchStrategy[GoodsEvent] = _any_of(GoodsEvent)
COMMANDS: st.SearchStrategy[GoodsCommand] = _any_of(GoodsCommand)


def steps(
    delivery: GoodsDelivery, commands: list[GoodsCommand]
) -> list[tuple[GoodsDelivery, GoodsCommand, tuple[GoodsEvent, ...], GoodsDelivery]]:
    """Return what each command that was not refused has changed."""
    taken = []
    for command in commands:
        try:
            events = decide(delivery, command)
        except DomainError:
            continue
        taken.append((delivery, command, events, fold(events, delivery)))
        delivery = taken[-1][-1]
    return taken


@given(st.lists(EVENTS, max_size=12))
def test_evolve_is_total_and_counts(events: list[GoodsEvent]) -> None:
    delivery = GoodsDelivery()

    for n, event in enumerate(events, start=1):
        delivery = evolve(delivery, event)
        assert delivery.version == n


@given(st.lists(COMMANDS, max_size=30))
def test_whatever_is_asked_a_delivery_keeps_its_rules(
    commands: list[GoodsCommand],
) -> None:
    given_back = 0
    for before, command, events, delivery in steps(owed(), commands):
        assert delivery.version == before.version + len(events)
        if before.stage in FINAL:
            assert events == ()
        assert before.decision <= delivery.decision + 1
        assert delivery.decision <= delivery.purchases <= MOST_PURCHASES
        _stands(delivery)
        submitted = [each for each in events if isinstance(each, PurchaseSubmitted)]
        assert len(submitted) <= 1
        refunded = [each for each in events if isinstance(each, Refunded)]
        assert [each.amount_minor for each in refunded] in ([], [190])
        given_back += len(refunded)
        if refunded:
            _gives_money_back(before, command)
    assert given_back <= 1


def _stands(delivery: GoodsDelivery) -> None:
    """Fail unless the head can be stored: the constraints of migration 0025."""
    is_open = delivery.stage in {Stage.SUBMITTED, Stage.NEEDS_REVIEW}
    assert is_open or delivery.standing is Standing.NONE
    if delivery.stage is Stage.SUBMITTED:
        assert delivery.standing is not Standing.NONE
    if delivery.stage is Stage.NEEDS_REVIEW:
        assert delivery.standing is not Standing.ASKED
    assert (delivery.key is not None) == (delivery.decision > 0)
    assert (delivery.refunded_minor is not None) == (delivery.stage is Stage.REFUNDED)
    if delivery.stage in {Stage.NEEDS_REVIEW, *FINAL - {Stage.DELIVERED}}:
        assert delivery.code is not None
    purchases = [each.purchase for each in delivery.senders]
    assert len(set(purchases)) == len(purchases)


def _gives_money_back(before: GoodsDelivery, command: GoodsCommand) -> None:
    """Fail unless nothing earlier was unknown, or a person took it on himself."""
    if isinstance(command, Decide):
        assert not before.senders or command.is_override
        return
    assert not before.is_doubtful
    if isinstance(command, Cancel):
        assert before.stage in {Stage.PENDING, Stage.FAILED}


@given(st.lists(COMMANDS, max_size=10))
def test_nothing_is_done_before_something_is_owed(
    commands: list[GoodsCommand],
) -> None:
    others: list[GoodsCommand] = [
        each for each in commands if not isinstance(each, Owe)
    ]

    assert all(not events for _, _, events, _ in steps(GoodsDelivery(), others))
    assert len(steps(GoodsDelivery(), [OWE, OWE])) == 1
