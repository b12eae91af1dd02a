"""The book of dead letters: whole streams, looked at from their ends."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import psycopg

from tests.projections.book.told import Told, streams
from tests.projections.book.told import read as read_log

BIRTHS = {
    "job.enqueued": "job",
    "fulfillment.requested": "operation",
    "goods.owed": "delivery",
}
DEATHS = (
    "job.discarded",
    "fulfillment.failed",
    "goods.failed",
    "goods.review_opened",
)
RETRIES = ("job.retried", "fulfillment.retried", "goods.retried")
OVER = ("goods.delivered", "goods.cancelled", "goods.refunded")
GOOD = ("job.succeeded", "fulfillment.succeeded", "fulfillment.cancelled", *OVER)
ENDS = (*RETRIES, "fulfillment.cancelled", "goods.review_decided", *OVER)
READ = (*BIRTHS, *DEATHS, *GOOD, *ENDS)


def row(stream: Sequence[Told]) -> dict[str, object] | None:
    """Return the row of one stream, or None when it has none."""
    birth = stream[0]
    of = BIRTHS.get(birth.type)
    if of is None or is_carrier(birth):
        return None
    read = [told for told in stream if told.type in READ]
    types = [told.type for told in read]
    deaths = [n for n, type_ in enumerate(types) if type_ in DEATHS]
    ends = [n for n, type_ in enumerate(types) if type_ in GOOD]
    if ends and (not deaths or ends[0] < deaths[0]):
        return None
    if is_given_up(read):
        return None
    told: dict[str, object] = {
        "stream_id": birth.stream_id,
        "tenant_id": birth.tenant_id,
        "stream_kind": of,
        "correlation_id": birth.meta["correlation_id"],
        "created_at": birth.at,
        "updated_at": read[-1].at,
    }
    told |= {"job": born_job, "operation": born_operation, "delivery": born_goods}[of](
        birth
    )
    return told | death(read, deaths)


def is_given_up(read: Sequence[Told]) -> bool:
    """Whether its money went back by itself while it was a letter."""
    is_open = False
    for event in read:
        if event.type in DEATHS:
            is_open = True
        elif event.type in ENDS:
            is_by_itself = event.meta["actor"]["type"] != "operator"
            if is_open and event.type == "goods.refunded" and is_by_itself:
                return True
            is_open = False
    return False


def is_carrier(birth: Told) -> bool:
    """Whether it is a job of the product's own that serves a record."""
    carriers = {"fulfillment", "goods_delivery", "goods_reconcile"}
    if birth.type != "job.enqueued" or birth.data["kind"] not in carriers:
        return False
    return birth.meta["actor"]["type"] != "shop" and about(birth) is not None


def about(birth: Told) -> UUID | None:
    """Return what the key of a job says after its kind, if that is an id."""
    kind, _, id_ = (birth.data["unique_key"] or "").partition(":")
    if kind != birth.data["kind"]:
        return None
    try:
        found = UUID(id_)
    except ValueError:
        return None
    return found if str(found) == id_ else None


def born_job(birth: Told) -> dict[str, object]:
    is_fanout = birth.data["kind"] == "order_fanout"
    return {
        "kind": birth.data["kind"],
        "queue": birth.data["queue"],
        "operation": None,
        "job_id": birth.stream_id,
        "order_stream_id": about(birth) if is_fanout else None,
        "entitlement_id": None,
    }


def born_operation(birth: Told) -> dict[str, object]:
    order = birth.data["order"]
    return {
        "kind": "fulfillment",
        "queue": "critical",
        "operation": birth.data["operation"],
        "job_id": None,
        "order_stream_id": None if order is None else UUID(order),
        "entitlement_id": UUID(birth.data["entitlement"]),
    }


def born_goods(birth: Told) -> dict[str, object]:
    return {
        "kind": "goods_delivery",
        "queue": "critical",
        "operation": None,
        "job_id": None,
        "order_stream_id": UUID(birth.data["order"]),
        "entitlement_id": None,
    }


def death(read: Sequence[Told], deaths: Sequence[int]) -> dict[str, object]:
    """Return the last death, and the first word of a person after it."""
    nothing: dict[str, object] = dict.fromkeys(
        (
            *("ended_at", "ended_how", "ended_by_type", "ended_by"),
            *("acknowledged_at", "acknowledged_by"),
        )
    )
    if not deaths:
        alive = {"state": "none", "code": None, "error_code": None}
        return nothing | alive | {"attempt": 0, "died_at": None}
    died, later = read[deaths[-1]], read[deaths[-1] + 1 :]
    told: dict[str, object] = {
        "state": "open",
        "code": died.data["code"],
        "error_code": died.data.get("error_code"),
        "attempt": died.data.get("attempt", died.data.get("decision", 0)),
        "died_at": died.at,
    }
    if died.type != "job.discarded":
        job = died.meta.get("causation", {}).get("job")
        told["job_id"] = None if job is None else UUID(job)
    for word in later:
        if word.type in ENDS:
            actor, how = word.meta["actor"], word.type.partition(".")[2]
            told |= {
                "state": "ended",
                "ended_at": word.at,
                "ended_how": "decided" if how == "review_decided" else how,
                "ended_by_type": actor["type"],
                "ended_by": actor["id"],
            }
            break
    return nothing | told


def rows(
    connection: psycopg.Connection[Any], until: int
) -> dict[tuple[object, ...], dict[str, object]]:
    """Return what the read model must hold at a position."""
    told = [row(stream) for stream in streams(read_log(connection, until)).values()]
    return {(each["stream_id"],): each for each in told if each is not None}
