"""The book of operations: what each column says is what was said of it last."""

from collections.abc import Iterable
from typing import Any

import psycopg

from tests.projections.book.told import (
    Rows,
    Told,
    at,
    common,
    id_of,
    instant,
    last,
    member,
    moment,
    read,
    streams,
)

STATES = {
    "fulfillment.requested": "pending",
    "fulfillment.attempt_started": "running",
    "fulfillment.attempt_failed": "retrying",
    "fulfillment.interrupted": "retrying",
    "fulfillment.parked": "retrying",
    "fulfillment.succeeded": "succeeded",
    "fulfillment.failed": "failed",
    "fulfillment.cancelled": "cancelled",
    "fulfillment.retried": "pending",
}


CODE = {
    "fulfillment.attempt_failed": member("code"),
    "fulfillment.interrupted": member("cause"),
    "fulfillment.parked": member("cause"),
    "fulfillment.failed": member("code"),
    "fulfillment.cancelled": member("code"),
    "fulfillment.succeeded": None,
    "fulfillment.retried": None,
}

PARKED_CAUSE = {
    "fulfillment.parked": member("cause"),
    "fulfillment.attempt_failed": None,
    "fulfillment.succeeded": None,
    "fulfillment.failed": None,
    "fulfillment.cancelled": None,
    "fulfillment.retried": None,
}

NEXT_ATTEMPT_AT = {
    "fulfillment.attempt_failed": moment("retry_at"),
    "fulfillment.attempt_started": None,
    "fulfillment.parked": None,
    "fulfillment.succeeded": None,
    "fulfillment.failed": None,
    "fulfillment.cancelled": None,
    "fulfillment.retried": None,
}

COMPLETED_AT = {
    "fulfillment.succeeded": at,
    "fulfillment.failed": at,
    "fulfillment.cancelled": at,
    "fulfillment.retried": None,
}

ATTEMPTS = {"fulfillment.attempt_started": member("attempt")}
COVERED_BY = {"fulfillment.cancelled": member("covered_by")}


def rows(connection: psycopg.Connection[Any], until: int) -> Rows:
    return told(read(connection, until, "fulfillment"))


def told(log: Iterable[Told]) -> Rows:
    found: Rows = {}
    for stream_id, events in streams(log).items():
        asked = events[0].data
        found[stream_id,] = common(events) | {
            "state": STATES[events[-1].type],
            "operation": asked["operation"],
            "entitlement_id": id_of(asked["entitlement"]),
            "order_stream_id": id_of(asked["order"]),
            "desired_version": asked["desired_version"],
            "effective_at": instant(asked["effective_at"]),
            "attempts": last(events, ATTEMPTS, 0),
            "code": last(events, CODE),
            "parked_cause": last(events, PARKED_CAUSE),
            "next_attempt_at": last(events, NEXT_ATTEMPT_AT),
            "covered_by": id_of(last(events, COVERED_BY)),
            "completed_at": last(events, COMPLETED_AT),
        }
    return found
