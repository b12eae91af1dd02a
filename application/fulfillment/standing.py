"""Facts that a holder of a lease found out stand, whatever was decided meanwhile.

The panel's answer is true even if a settlement has changed the entitlement's desired
state since it was asked for; only its place in the stream is new.  So such a change
is decided again from the locked state instead of being thrown away with the answer
(mechanisms 8: a holder takes the version from the locked row).
"""

import msgspec

from application.unit import Locked, is_current
from domain.entitlement import aggregate as entitlement
from domain.entitlement.commands import Observe, Resolve
from domain.entitlement.events import DriftResolved, Seen
from domain.entitlement.state import Entitlement
from domain.errors import IllegalTransitionError
from domain.event import Event
from domain.order import aggregate as order
from domain.order.events import Fulfilled
from domain.stream import Change, State


def standing(locked: Locked, change: Change) -> Change | None:
    """Return the change as of the locked head; None when it does not stand any more.

    A guard (a change without events) stands only at the version that was read.  What
    is returned without events says that the locked head knows it all already.
    """
    if is_current(locked, change):
        return change
    head = locked.get(change.ref)
    if head is None or not change.events:
        return None
    state: State | None = head.state
    events: list[Event] = []
    for event in change.events:
        told = _told_again(state, event)
        if told is None:
            return None
        again, state = told
        events.extend(again)
    return msgspec.structs.replace(
        change, expected=head.state.version, events=tuple(events), state=state
    )


def _told_again(
    state: State | None, event: Event
) -> tuple[tuple[Event, ...], State] | None:
    """Return what `event` still adds to `state`, or None for any other event."""
    try:
        match state, event:
            case Entitlement(), Seen() | DriftResolved():
                told = (
                    Observe(event.observed)
                    if isinstance(event, Seen)
                    else Resolve((event.kind,))
                )
                seen = entitlement.decide(state, told)
                for each in seen:
                    state = entitlement.evolve(state, each)
                return seen, state
            case order.Order(), Fulfilled():
                done = order.decide(state, order.Fulfill(event.operation))
                for fact in done:
                    state = order.evolve(state, fact)
                return done, state
            case _:
                return None
    except IllegalTransitionError:
        return None
