"""What a provider says by a callback, told to the delivery that it is about.

It may come before the answer, after it, in the middle of a review or after the money
was given back.  The rules of the delivery decide what it still means; what they cannot
take any more is evidence for a person.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final
from uuid import UUID

from application import births
from application.callbacks.callback import (
    ACCEPTED,
    CONTRADICTED,
    FAILED,
    IGNORED,
    Callback,
    Told,
)
from application.callbacks.said import (
    DELIVERED,
    NOT_BOUGHT,
    Decision,
    Said,
    decision_of,
)
from application.goods.pace import Pace
from application.ports import Streams
from application.unit import (
    Group,
    Head,
    Ids,
    Locked,
    Refused,
    UnitOfWork,
    Written,
    changed,
)
from domain.errors import IllegalTransitionError
from domain.event import Actor, Causation, Instant, Meta
from domain.goods import aggregate
from domain.goods.answers import RETRYABLE
from domain.goods.commands import Accept, Confirm, GoodsCommand, OpenReview, Refuse
from domain.goods.state import GoodsDelivery, Stage
from domain.stream import Change, Ref

UNKNOWN_KEY: Final = "unknown_key"
ALREADY_SO: Final = "already_so"
PURCHASE_FAILED: Final = "purchase_failed"
NOT_STORED: Final = "not_stored"


type Tell = Callable[[Callback, Said], Told]
"""Tells a delivery what its provider has said; see `TellDelivery`."""


@dataclass(frozen=True, slots=True)
class TellDelivery:
    """Tells a delivery what its provider has said."""

    streams: Streams
    units: UnitOfWork
    ids: Ids
    pace: Pace

    def __call__(self, callback: Callback, said: Said) -> Told:
        """Return what followed, committed; telling it twice changes nothing more.

        Raises:
            DatabaseUnavailableError: nothing is known to be told.
        """
        decision = decision_of(said.key)
        found = None if decision is None else self._delivery_of(callback, decision)
        if decision is None or found is None:
            return Told(status=IGNORED, code=UNKNOWN_KEY, kind=said.kind)
        ref, head = found
        group = Group(
            refs=(ref,),
            decide=partial(self._decided, ref, said, decision.number),
            meta=_meta(callback, head),
        )
        (result,) = self.units.commit([group])
        match result:
            case Written() if result.changes:
                return _told(ref.id, said, ACCEPTED, None, result.position)
            case Written():
                return _told(ref.id, said, ACCEPTED, ALREADY_SO)
            case Refused():
                return _told(ref.id, said, FAILED, result.code)
            case _:
                return _told(ref.id, said, FAILED, NOT_STORED)

    def _delivery_of(
        self, callback: Callback, decision: Decision
    ) -> tuple[Ref, Head] | None:
        """Return the delivery, if it is this tenant's and of this provider."""
        for ref, head in self.streams.deliveries_of(decision.order):
            state = head.state
            if (
                isinstance(state, GoodsDelivery)
                and state.line == decision.line
                and state.provider == callback.provider
                and head.tenant_id == callback.tenant_id
            ):
                return ref, head
        return None

    def _decided(
        self, ref: Ref, said: Said, decision: int, locked: Locked, now: Instant
    ) -> tuple[Change, ...] | Refused:
        head = locked.get(ref)
        if head is None or not isinstance(head.state, GoodsDelivery):
            return Refused(UNKNOWN_KEY)
        delivery = head.state
        command = self._command(said, decision, delivery, now)
        try:
            events = aggregate.decide(delivery, command)
        except IllegalTransitionError:
            if said.kind != DELIVERED:
                return Refused("unknown_decision")
            if delivery.stage not in {Stage.PENDING, Stage.SUBMITTED}:
                return Refused(CONTRADICTED)
            events = aggregate.decide(delivery, OpenReview(CONTRADICTED))
        if not events:
            return ()
        change = changed(ref, head, events, aggregate.fold(events, delivery))
        return (change, *births.after_delivery(self.ids, change, now))

    def _command(
        self, said: Said, decision: int, delivery: GoodsDelivery, now: Instant
    ) -> GoodsCommand:
        if said.kind == DELIVERED:
            return Confirm(decision=decision, reference=said.reference)
        if said.kind == NOT_BOUGHT:
            return Refuse(
                decision=decision,
                failure_class=RETRYABLE,
                code=PURCHASE_FAILED,
                next_at=self.pace.next_purchase(delivery, now),
                is_answer=False,
            )
        return Accept(
            decision=decision,
            reference=said.reference,
            next_at=self.pace.next_look(delivery, now),
            is_answer=False,
        )


def _meta(callback: Callback, head: Head) -> Meta:
    return Meta(
        actor=Actor(type="provider", id=callback.provider),
        correlation_id=head.correlation_id,
        causation=Causation(request_id=f"callback:{callback.id}"),
    )


def _told(
    delivery: UUID, said: Said, status: str, code: str | None, position: int = 0
) -> Told:
    return Told(
        status=status,
        code=code,
        kind=said.kind,
        delivery=delivery,
        position=position,
    )
