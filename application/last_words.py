"""What people have changed since an order was paid: they have the last word on it.

An order is decided milliseconds after its payment, or hours, when no worker ran.  What
becomes of a person's change must not depend on that: whoever changed something after
the payment has changed what the payment brought.
"""

from collections.abc import Sequence
from types import MappingProxyType
from typing import Final

from application.ports import OperationRow, Streams
from domain.entitlement.commands import STANDING
from domain.entitlement.state import Desired
from domain.event import Instant
from domain.fulfillment.aggregate import FulfillmentOperation
from domain.fulfillment.operations import DISABLE, EXTEND, SET_LIMITS, SET_SQUADS

_LIMITS: Final = ("traffic_bytes", "device_limit")

_SAID: Final = MappingProxyType(
    {
        EXTEND: frozenset({"ends_at"}),
        SET_SQUADS: frozenset({"squad_ids"}),
        DISABLE: frozenset({STANDING}),
    }
)


def last_words(
    streams: Streams, operations: Sequence[OperationRow], paid_at: Instant
) -> frozenset[str]:
    """Return the members of the desired state that were changed after `paid_at`.

    `operations` by rising desired version.  A refund has the last word like a person,
    on whether there is access at all.
    """
    words = frozenset[str]()
    before: OperationRow | None = None
    for row in operations:
        is_ours = row.order is None or row.operation == DISABLE
        if is_ours and row.effective_at > paid_at:
            words |= _SAID.get(row.operation, frozenset())
            if row.operation == SET_LIMITS:
                words |= _limits(streams, before, row)
        before = row
    return words


def _limits(
    streams: Streams, before: OperationRow | None, row: OperationRow
) -> frozenset[str]:
    """Return the limits that were moved; both, when it cannot be told which."""
    then, now = _desired(streams, before), _desired(streams, row)
    if then is None or now is None:
        return frozenset(_LIMITS)
    moved = {name for name in _LIMITS if getattr(then, name) != getattr(now, name)}
    return frozenset(moved or _LIMITS)


def _desired(streams: Streams, row: OperationRow | None) -> Desired | None:
    head = None if row is None else streams.head(row.ref)
    state = None if head is None else head.state
    return state.desired if isinstance(state, FulfillmentOperation) else None
