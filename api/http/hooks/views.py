"""What is answered about callbacks."""

from typing import Literal

import msgspec

from api.http.wire.ids import Prefix, told, told_if
from api.http.wire.values import Position, position
from application.callbacks.callback import DUPLICATE, Callback
from application.callbacks.record import Receipt


class TakenView(msgspec.Struct, frozen=True):
    """What a provider is told: it is on record, and need not be sent again."""

    status: Literal["accepted", "duplicate"]


class ReplayedView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What followed from a callback this time."""

    callback_id: str
    status: str
    code: str | None
    delivery_id: str | None
    position: Position


def taken_view(receipt: Receipt) -> TakenView:
    """Return what a provider is told of a callback that it has signed.

    Whether it meant anything here is ours to look after.
    """
    return TakenView(status=DUPLICATE if receipt.status == DUPLICATE else "accepted")


def standing_view(callback: Callback, at: int) -> ReplayedView:
    """Return how a callback stands that was replayed before."""
    return ReplayedView(
        callback_id=told(Prefix.CALLBACK, callback.id),
        status=callback.status,
        code=callback.code,
        delivery_id=told_if(Prefix.DELIVERY, callback.delivery),
        position=position(at),
    )


def replayed_view(receipt: Receipt) -> ReplayedView:
    """Return what followed."""
    return ReplayedView(
        callback_id=told(Prefix.CALLBACK, receipt.callback_id),
        status=receipt.status,
        code=receipt.code,
        delivery_id=told_if(Prefix.DELIVERY, receipt.delivery_id),
        position=position(receipt.position),
    )
