"""Which later operation may carry the desired state of an earlier one.

A later `create` brings the panel to its own, newer desired state, so an earlier
operation has nothing left to do once such a one is due.  A failed or cancelled
one covers nobody.
"""

from collections.abc import Sequence

from application.ports import OperationRow
from domain.event import Instant
from domain.fulfillment.aggregate import COVERING, FulfillmentOperation, Stage
from domain.fulfillment.operations import CREATE


def candidates(
    operation: FulfillmentOperation, others: Sequence[OperationRow]
) -> list[OperationRow]:
    """Return the later operations that may cover this one, the best first.

    One that has succeeded comes first: its state is final and on the panel
    already, so the covered operation's order is fulfilled at once.
    """
    later = [
        other
        for other in others
        if other.operation == CREATE
        and other.desired_version > operation.desired_version
        and other.state in COVERING
    ]
    return sorted(
        later,
        key=lambda other: (other.state == Stage.SUCCEEDED, other.desired_version),
        reverse=True,
    )


def covers(
    later: FulfillmentOperation, earlier: FulfillmentOperation, now: Instant
) -> bool:
    """Whether `later`, as locked, carries the desired state of `earlier`."""
    return (
        later.operation == CREATE
        and later.entitlement == earlier.entitlement
        and later.desired_version > earlier.desired_version
        and later.stage in COVERING
        and later.effective_at is not None
        and later.effective_at <= now
    )
