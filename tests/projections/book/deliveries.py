"""The book of deliveries: each stream played once more, over plain JSON."""

from collections.abc import Callable, Iterable
from typing import Any

import psycopg

from tests.projections.book.told import (
    Row,
    Rows,
    Told,
    common,
    id_of,
    instant,
    read,
    streams,
)

SAME = (
    "order_id",
    "customer_id",
    "line",
    "provider",
    "quantity",
    "currency",
    "cost_minor",
    "price_minor",
    "paid_minor",
)
ENDS = {"delivered", "failed", "refunded", "cancelled"}


def rows(connection: psycopg.Connection[Any], until: int) -> Rows:
    return told(read(connection, until, "goods"))


def told(log: Iterable[Told]) -> Rows:
    return {
        (stream_id,): play(events)
        for stream_id, events in streams(log).items()
        if events[0].type == "goods.owed"
    }


def play(events: list[Told]) -> Row:
    birth = events[0].data
    row: Row = common(events) | {name: birth[name] for name in SAME}
    row |= {
        "order_stream_id": id_of(birth["order"]),
        "product": birth["product"]["kind"],
        "state": "pending",
        "standing": "none",
        "withdraws_to": "none",
        "purchases": 0,
        "decision": 0,
        "is_doubtful": False,
    }
    row |= dict.fromkeys(
        (
            "restored_at",
            "refunded_minor",
            "reference",
            "failure_class",
            "code",
            "deferred_code",
            "next_at",
            "proposed_by",
            "reviewed_at",
            "decided_by",
            "completed_at",
        )
    )
    for event in events[1:]:
        before = row["state"]
        SAYS[event.type.partition(".")[2]](row, event)
        if row["state"] != before:
            row["completed_at"] = event.at if row["state"] in ENDS else None
    return row


def submitted(row: Row, event: Told) -> None:
    data = event.data
    row["reference"] = row["reference"] if data["decision"] == row["decision"] else None
    row |= {
        "state": "submitted",
        "withdraws_to": row["standing"],
        "standing": "asked",
        "purchases": data["purchase"],
        "decision": data["decision"],
        "next_at": None,
        "deferred_code": None,
    }


def withdrawn(row: Row, event: Told) -> None:
    is_repeat = row["withdraws_to"] == "unknown"
    row |= {
        "state": "submitted" if is_repeat else "pending",
        "standing": row["withdraws_to"],
        "purchases": event.data["purchase"] - 1,
        "decision": event.data["decision"] - (0 if is_repeat else 1),
    }


def learnt(row: Row, event: Told) -> None:
    """A decision that a restore had lost comes to light."""
    number = event.data["decision"]
    if number > row["decision"]:
        row["decision"] = number
        row["purchases"] = max(row["purchases"], number)


def confirmed(row: Row, event: Told) -> None:
    learnt(row, event)
    row["reference"] = event.data["reference"] or row["reference"]


def accepted(row: Row, event: Told) -> None:
    row |= {"state": "submitted", "standing": "accepted", "code": None}
    row["reference"] = event.data["reference"] or row["reference"]
    row["next_at"] = instant(event.data.get("next_at"))


def over(row: Row, event: Told) -> None:
    learnt(row, event)
    row |= {"state": "pending", "standing": "none"}
    row |= {"restored_at": None, "next_at": None}


def refused(row: Row, event: Told) -> None:
    over(row, event)
    row |= {name: event.data[name] for name in ("failure_class", "code")}
    row["next_at"] = instant(event.data["next_at"])


def unknown(row: Row, event: Told) -> None:
    if row["state"] != "needs_review":
        row["state"] = "submitted"
    row |= {"standing": "unknown", "code": event.data["code"], "next_at": None}
    if event.data["restored_at"] is not None:
        row["restored_at"] = instant(event.data["restored_at"])


def reconciled(row: Row, event: Told) -> None:
    data, is_asked = event.data, row["state"] == "submitted"
    is_unknown = row["standing"] == "unknown"
    learnt(row, event)
    if data["found"] == "accepted" and is_asked:
        accepted(row, event)
        return
    row["code"] = data["code"] or data["found"]
    if data["found"] != "absent" or not data["is_conclusive"] or not is_unknown:
        row["reference"] = data["reference"] or row["reference"]
    elif is_asked:
        over(row, event)


def opened(row: Row, event: Told) -> None:
    row |= {"state": "needs_review", "code": event.data["code"], "next_at": None}
    row |= {"reviewed_at": event.at, "proposed_by": None, "decided_by": None}


def proposed(row: Row, event: Told) -> None:
    row["proposed_by"] = event.data["by"]["id"]


def decided(row: Row, event: Told) -> None:
    row |= {"proposed_by": None, "decided_by": event.meta["actor"]["id"]}
    if event.data["verdict"] == "buy_again":
        row["is_doubtful"] = row["is_doubtful"] or row["standing"] != "none"
        row |= {"state": "pending", "standing": "none", "next_at": None}
        row["restored_at"] = None


def deferred(row: Row, event: Told) -> None:
    row["deferred_code"] = event.data["code"]
    row["next_at"] = instant(event.data["until"])


def delivered(row: Row, event: Told) -> None:
    row |= {"state": "delivered", "standing": "none", "code": None, "next_at": None}
    row |= {"failure_class": None, "reference": event.data["reference"]}


def failed(row: Row, event: Told) -> None:
    row |= {"state": "failed", "code": event.data["code"], "next_at": None}


def refunded(row: Row, event: Told) -> None:
    row |= {"state": "refunded", "standing": "none", "next_at": None}
    row |= {"code": event.data["code"], "refunded_minor": event.data["amount_minor"]}


def cancelled(row: Row, event: Told) -> None:
    row |= {"state": "cancelled", "code": event.data["code"], "next_at": None}


def retried(row: Row, _: Told) -> None:
    row |= {"state": "pending", "code": None, "deferred_code": None, "next_at": None}


def nothing(_row: Row, _event: Told) -> None:
    """It moves nothing that a row tells."""


SAYS: dict[str, Callable[[Row, Told], None]] = {
    "purchase_submitted": submitted,
    "purchase_withdrawn": withdrawn,
    "purchase_confirmed": confirmed,
    "purchase_accepted": accepted,
    "purchase_refused": refused,
    "purchase_unknown": unknown,
    "sender_ended": nothing,
    "reconciled": reconciled,
    "review_opened": opened,
    "decision_proposed": proposed,
    "review_decided": decided,
    "deferred": deferred,
    "delivered": delivered,
    "failed": failed,
    "refunded": refunded,
    "cancelled": cancelled,
    "retried": retried,
}
