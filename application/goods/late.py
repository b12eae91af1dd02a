"""What a buyer still has to say when its claim is over: he was frozen, or too slow.

Nothing that he decided counts any more: the job has gone on without him (I4).  But two
things are true whoever holds the job.  That the provider has bought is its own word, as
in a callback, and ends even a review.  And that his own call is over only he can say:
until he does, or is proved dead, nobody may give the money back or buy again.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from application.births import after_delivery
from application.unit import Group, Ids, Locked, Refused, changed
from domain.errors import IllegalTransitionError
from domain.event import Event, Instant, Meta
from domain.goods import aggregate
from domain.goods.commands import Confirm, GoodsCommand, LoseTrack
from domain.goods.events import (
    PurchaseAccepted,
    PurchaseConfirmed,
    PurchaseRefused,
    PurchaseUnknown,
    PurchaseWithdrawn,
)
from domain.goods.state import GoodsDelivery, latest_asking
from domain.stream import Change, Ref

GONE = Refused("gone")
_CODE = "answered_late"

_ANSWERS = (
    PurchaseAccepted,
    PurchaseConfirmed,
    PurchaseRefused,
    PurchaseUnknown,
    PurchaseWithdrawn,
)


def testimonies(
    changes: Iterable[Change], token: int, meta: Meta, ids: Ids
) -> list[Group]:
    """Return what the changes of an ending that was refused still say.

    `token` is the one of the claim that is over.
    """
    found = [_testimony(change, token, ids) for change in changes]
    return [
        Group(refs=(each.ref,), decide=each, meta=meta)
        for each in found
        if each is not None
    ]


def _testimony(change: Change, token: int, ids: Ids) -> "Testimony | None":
    state = change.state
    if not isinstance(state, GoodsDelivery):
        return None
    for event in change.events:
        if isinstance(event, _ANSWERS):
            purchase = state.purchases
            if isinstance(event, PurchaseWithdrawn):
                purchase = event.purchase
            return Testimony(change.ref, token, purchase, event, ids)
    return None


@dataclass(frozen=True, slots=True)
class Testimony:
    """Decides about one late answer once the delivery is locked."""

    ref: Ref
    token: int
    purchase: int
    """The submission whose call is over, made under that token."""
    event: Event
    """What it came to, as its buyer would have recorded it."""
    ids: Ids

    def __call__(self, locked: Locked, now: Instant) -> tuple[Change, ...] | Refused:
        """Return what is still to be said."""
        head = locked.get(self.ref)
        if head is None or not isinstance(head.state, GoodsDelivery):
            return GONE
        delivery, told = head.state, list[Event]()
        for command in self._commands(delivery, now):
            try:
                again = aggregate.decide(delivery, command)
            except IllegalTransitionError as error:
                return Refused(f"{self.event.tag} after {error.stage}")
            told += again
            delivery = aggregate.fold(again, delivery)
        if not told:
            return ()
        change = changed(self.ref, head, told, delivery)
        return (change, *after_delivery(self.ids, change, now))

    def _commands(
        self, delivery: GoodsDelivery, now: Instant
    ) -> tuple[GoodsCommand, ...]:
        asking = latest_asking(delivery)
        is_latest = asking is not None and asking.purchase == self.purchase
        # Whoever asks after him under the same key has a token of his own.
        is_his = is_latest and delivery.token == self.token
        over = (LoseTrack(code=_CODE, is_sender_gone=True, at=now),) if is_his else ()
        if not isinstance(self.event, PurchaseConfirmed):
            return over
        decision, reference = self.event.decision, self.event.reference
        return (*over, Confirm(decision=decision, reference=reference))
