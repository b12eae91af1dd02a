"""Facts about operators, each a stream of one event (a storage contract).

The thing that was asked about is named in the data: a refusal never moves the
version of its target.
"""

from typing import ClassVar

from domain.event import Event
from domain.stream import State


class ActionRefused(Event, frozen=True, kw_only=True):
    """An operator asked for something that a rule forbids (I9)."""

    tag: ClassVar[str] = "operator.action_refused"
    action: str
    """`retry` or `cancel`."""
    target: str
    """The id that was given, as given, cleaned and cut."""
    code: str
    """The refusal's stable name."""


class Remark(State, frozen=True, kw_only=True):
    """The state of a stream of one event: that it exists."""


type OperatorEvent = ActionRefused


def evolve(remark: Remark, event: OperatorEvent) -> Remark:
    """Return the state after `event`.  Total: history is never rejected."""
    del event
    return Remark(version=remark.version + 1)
