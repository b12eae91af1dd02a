"""Endings on the wire: what a handler said in a cell, told and read again.

Read strictly: what does not fit its type is no ending, whatever a handler has done to
the process that told it.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from domain.bulk.aggregate import BulkOperation
from domain.entitlement.state import Entitlement
from domain.fulfillment.aggregate import FulfillmentOperation
from domain.goods.state import GoodsDelivery
from domain.jobs.aggregate import Job
from domain.jobs.outcome import Fail
from domain.jobs.verdict import Ending, Interrupted, Unfit
from domain.maintenance.aggregate import MaintenanceWindow
from domain.operators.events import Remark
from domain.order.aggregate import Order
from domain.plain_json import cleaned
from domain.stream import Change, Ref, State, StreamKind
from infrastructure.postgres.codec import UnknownEventError, decode_event, encoded
from infrastructure.processor.running import OUTCOME_SHAPES, checked
from infrastructure.processor.settling import changes_of
from infrastructure.processor.suspects.wire import (
    Ended,
    ToldChange,
    ToldEvent,
    WireError,
)

_STATES: Final[Mapping[StreamKind, type[State]]] = {
    StreamKind.ORDER: Order,
    StreamKind.ENTITLEMENT: Entitlement,
    StreamKind.OPERATION: FulfillmentOperation,
    StreamKind.DELIVERY: GoodsDelivery,
    StreamKind.JOB: Job,
    StreamKind.MAINTENANCE: MaintenanceWindow,
    StreamKind.REMARK: Remark,
    StreamKind.BULK: BulkOperation,
}
_OUTCOMES: Final = {found.__name__: found for found in OUTCOME_SHAPES}
_OTHERS: Final = {"Interrupted": Interrupted, "Unfit": Unfit}


def told(ending: Ending) -> Ended:
    """Return an ending as a message; one that cannot be told has failed for good."""
    try:
        return _told(ending)
    except (
        AttributeError,  # changes of somebody's own make
        TypeError,
        ValueError,
        OverflowError,
        RecursionError,
    ) as error:
        return _told(Fail(code="unstorable_result", error=type(error).__name__))


def _told(ending: Ending) -> Ended:
    members = msgspec.structs.asdict(ending)
    members.pop("changes", None)
    # Texts are cleaned where they are stored; on the wire they must be UTF-8 already.
    # A result is stored as it is, or not at all.
    plain = {
        name: member if name == "result" else cleaned(member)
        for name, member in members.items()
    }
    return Ended(
        word=type(ending).__name__,
        members=msgspec.Raw(encoded(plain)),
        changes=tuple(_told_change(change) for change in changes_of(ending)),
    )


def _told_change(change: Change) -> ToldChange:
    return ToldChange(
        kind=change.ref.kind,
        id=change.ref.id,
        tenant_id=change.tenant_id,
        expected=change.expected,
        events=tuple(
            ToldEvent(event.tag, event.schema, msgspec.Raw(encoded(event)))
            for event in change.events
        ),
        state=msgspec.Raw(encoded(change.state)),
    )


def ending_of(message: Ended) -> Ending:
    """Return the ending that a cell told.

    Raises:
        WireError: it is none.
    """
    try:
        return _ending(message)
    except (
        msgspec.MsgspecError,
        UnknownEventError,
        KeyError,
        TypeError,
        ValueError,
        RecursionError,
    ) as error:
        raise WireError(type(error).__name__) from error


def _ending(message: Ended) -> Ending:
    other = _OTHERS.get(message.word)
    if other is not None:
        ending: Interrupted | Unfit = msgspec.json.decode(message.members, type=other)
        return ending
    outcome = _OUTCOMES[message.word]
    shape = msgspec.json.decode(message.members, type=OUTCOME_SHAPES[outcome])
    members = msgspec.structs.asdict(shape)
    changes = tuple(_change(each) for each in message.changes)
    return checked(outcome(**members, changes=changes))


def _change(change: ToldChange) -> Change:
    kind = StreamKind(change.kind)
    return Change(
        ref=Ref(kind, change.id),
        tenant_id=change.tenant_id,
        expected=change.expected,
        events=tuple(
            decode_event(event.tag, event.schema, bytes(event.data))
            for event in change.events
        ),
        state=msgspec.json.decode(change.state, type=_STATES[kind]),
    )
