"""The book of orders: a birth, and at most one delivery and one refund."""

from collections.abc import Iterable
from typing import Any

import psycopg

from tests.projections.book.told import (
    Rows,
    Told,
    common,
    id_of,
    instant,
    read,
    streams,
)

SAME = ("order_id", "customer_id", "slot", "currency", "amount_minor", "discount_minor")


def rows(connection: psycopg.Connection[Any], until: int) -> Rows:
    return told(read(connection, until, "order", "wallet", "addon"))


def told(log: Iterable[Told]) -> Rows:
    found: Rows = {}
    for stream_id, events in streams(log).items():
        by_type = {event.type: event for event in events}
        birth = events[0].data
        topup = by_type.get("wallet.credited")
        delivery = by_type.get("order.fulfilled")
        refund = by_type.get("order.refunded")
        delivered = delivery or topup
        state = "refunded" if refund else "fulfilled" if delivered else "paid"
        found[stream_id,] = (
            common(events)
            | {name: birth[name] for name in SAME}
            | {
                "kind": "topup" if topup else birth["kind"],
                "state": state,
                "refunded_minor": refund.data["amount_minor"] if refund else None,
                "effective_at": instant(birth.get("effective_at")),
                "fulfilled_by": id_of(delivery.data["operation"] if delivery else None),
                "fulfilled_at": delivered.at if delivered else None,
                "refunded_at": refund.at if refund else None,
            }
        )
    return found
