"""The record that a job serves: an operation, a delivery or a bulk operation.

Whoever ends or moves a job moves its record in the same transaction (mechanisms 25).
What a record then has to say is told where it is at home, in `fulfillment.record` and
in `goods.record`; this module only finds out which of them it is.
"""

from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

import msgspec

from application.fulfillment import record as operations
from application.fulfillment.standing import standing as operations_standing
from application.goods import record as deliveries
from application.goods.standing import standing as deliveries_standing
from application.job_kinds import AnyKind
from application.records import bulk
from application.unit import Head, Locked
from domain.bulk.aggregate import BulkOperation
from domain.event import Instant
from domain.fulfillment.aggregate import FulfillmentOperation, Stage
from domain.goods.state import GoodsDelivery
from domain.jobs.events import JobEvent
from domain.stream import Change, Ref, State, StreamKind


def record_ref(
    kind: AnyKind, decode: Callable[[type[Any]], Any], unique_key: str | None
) -> Ref | None:
    """Return the record that a job serves, or None; never raises.

    A job that anybody else asked for, without the key of its kind's entry, serves
    none: it must not move what is owed.  Whose arguments cannot be read any more is
    found by the key, which for kinds with a record is `<kind>:<record>`: the record
    must end with its job.
    """
    if kind.record is None:
        return None
    try:
        decoded = decode(kind.args)
        if kind.unique_key(decoded) != unique_key:
            return None
        return Ref(kind.record_kind, kind.record(decoded))
    except (msgspec.ValidationError, msgspec.DecodeError, ValueError, RecursionError):
        _, _, record = (unique_key or "").partition(f"{kind.name}:")
    try:
        return Ref(kind.record_kind, UUID(record))
    except ValueError:
        return None


def standing(locked: Locked, change: Change, now: Instant) -> Change | None:
    """Return a holder's change as of the locked head; None when it does not stand.

    See the functions of this name of operations' side and of goods.
    """
    if change.ref.kind is StreamKind.DELIVERY:
        return deliveries_standing(locked, change, now)
    return operations_standing(locked, change)


def may_have_called(record: State, token: int) -> bool | None:
    """Whether the claim of `token` may have asked a provider, as its record says.

    None: the record does not say.
    """
    match record:
        case FulfillmentOperation():
            return record.stage is Stage.RUNNING
        case GoodsDelivery():
            return deliveries.may_have_called(record, token)
        case _:
            return None


def record_change(
    ref: Ref,
    head: Head,
    after: Sequence[JobEvent],
    told: Change | None = None,
    *,
    has_called: bool = False,
) -> tuple[Change, ...]:
    """Return the change of a locked record that follows its job's events, if any.

    `told` is what the job's handler has said of it, as of the locked head.  An
    operation's handler says it all; a delivery's says what the provider answered, and
    what that leaves open follows the job.
    """
    if isinstance(head.state, BulkOperation):
        return bulk.record_change(ref, head, after)
    if not isinstance(head.state, GoodsDelivery):
        followed = operations.record_change(ref, head, after)
        return followed if told is None else (told,)
    change = deliveries.record_change(ref, head, after, told, has_called=has_called)
    return () if change is None else (change,)
