"""What units of work have written, for whoever measures it."""

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from application.unit import Group, Refused, Result
from domain.event import Event
from domain.fulfillment.aggregate import FulfillmentOperation
from domain.goods import events as goods
from domain.goods.state import GoodsDelivery
from domain.ids import unix_ms_of
from domain.jobs.events import Enqueued
from domain.operators.events import ActionRefused, ActionTaken, OperatorEvent
from domain.order.aggregate import Order
from domain.order.events import Fulfilled
from domain.stream import Change, StreamKind
from infrastructure.telemetry import is_measured, measure
from infrastructure.telemetry.measures import (
    AppendConflicted,
    EventsAppended,
    GoodsAnswered,
    JobsEnqueued,
    OperatorActed,
    OrderFulfilled,
)

_CONFLICT: Final = Refused("conflict")

_DEEDS: Final[dict[type[Event], str]] = {
    ActionTaken: "taken",
    ActionRefused: "refused",
}

_OUTCOMES: Final[dict[type[Event], str]] = {
    goods.PurchaseConfirmed: "confirmed",
    goods.PurchaseAccepted: "accepted",
    goods.PurchaseRefused: "refused",
    goods.PurchaseUnknown: "unknown",
}


def tell_verdict(group: Group, verdict: Result) -> Result:
    """Return the verdict on a group that was not written, measured."""
    if verdict == _CONFLICT and group.refs:
        measure(AppendConflicted(group.refs[0].kind.name.lower()))
    return verdict


def tell_written(answers: Iterable[tuple[Change, ...] | Refused]) -> None:
    """Measure what was committed of these answers of groups."""
    if not is_measured():
        return
    events = Counter[str]()
    for group in answers:
        if isinstance(group, Refused):
            continue
        for change in group:
            if change.events:
                events[change.ref.kind.name.lower()] += len(change.events)
            for event in change.events:
                _tell(event, change, group)
    if events:
        measure(EventsAppended(events))


def tell_remarks(events: Sequence[OperatorEvent]) -> None:
    """Measure what was committed beside rows, each event a stream of its own."""
    if not events or not is_measured():
        return
    for event in events:
        if isinstance(event, ActionTaken | ActionRefused):
            measure(OperatorActed(event.action, _DEEDS[type(event)]))
    measure(EventsAppended({StreamKind.REMARK.name.lower(): len(events)}))


def _tell(event: Event, change: Change, group: Sequence[Change]) -> None:
    match event:
        case Enqueued():
            measure(JobsEnqueued(event.queue, event.kind, "unit"))
        case ActionTaken() | ActionRefused():
            measure(OperatorActed(event.action, _DEEDS[type(event)]))
        case Fulfilled():
            _tell_fulfilled(change, group)
        case _:
            outcome = _OUTCOMES.get(type(event))
            if outcome is not None and isinstance(change.state, GoodsDelivery):
                measure(GoodsAnswered(change.state.provider, outcome))


def _tell_fulfilled(change: Change, group: Sequence[Change]) -> None:
    """Measure an order from when it was paid: its id was made then, by the database.

    One that was to take effect later counts from then.
    """
    paid_ms = unix_ms_of(change.ref.id)
    if paid_ms is None or not isinstance(change.state, Order):
        return
    dues = (
        each.state.effective_at.timestamp()
        for each in group
        if isinstance(each.state, FulfillmentOperation)
        and each.state.effective_at is not None
    )
    since = max(paid_ms / 1_000, *dues, 0.0)
    measure(OrderFulfilled(change.state.kind, max(time.time() - since, 0.0)))
