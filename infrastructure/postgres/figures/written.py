"""What units of work have written, for whoever measures it."""

from collections import Counter
from collections.abc import Iterable
from itertools import chain
from typing import Final

from application.unit import Group, Refused, Result
from domain.event import Event
from domain.goods import events as goods
from domain.goods.state import GoodsDelivery
from domain.jobs.events import Enqueued
from domain.operators.events import ActionRefused, ActionTaken
from domain.stream import Change
from infrastructure.telemetry import is_measured, measure
from infrastructure.telemetry.measures import (
    AppendConflicted,
    EventsAppended,
    GoodsAnswered,
    JobsEnqueued,
    OperatorActed,
)

_CONFLICT: Final = Refused("conflict")

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
    written = (it for it in answers if not isinstance(it, Refused))
    for change in chain.from_iterable(written):
        if change.events:
            events[change.ref.kind.name.lower()] += len(change.events)
        for event in change.events:
            _tell(event, change)
    if events:
        measure(EventsAppended(events))


def _tell(event: Event, change: Change) -> None:
    match event:
        case Enqueued():
            measure(JobsEnqueued(event.queue, event.kind, "unit"))
        case ActionTaken():
            measure(OperatorActed(event.action, "taken"))
        case ActionRefused():
            measure(OperatorActed(event.action, "refused"))
        case _:
            outcome = _OUTCOMES.get(type(event))
            if outcome is not None and isinstance(change.state, GoodsDelivery):
                measure(GoodsAnswered(change.state.provider, outcome))
