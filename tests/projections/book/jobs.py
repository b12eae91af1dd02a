"""The book of jobs: what each column says is what was said of it last."""

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
    "job.enqueued": "waiting",
    "job.claimed": "running",
    "job.succeeded": "succeeded",
    "job.attempt_failed": "waiting",
    "job.snoozed": "waiting",
    "job.parked": "waiting",
    "job.released": "waiting",
    "job.lease_expired": "waiting",
    "job.discarded": "discarded",
    "job.cancelled": "cancelled",
    "job.retried": "waiting",
}


def after_failure(_: Told) -> str:
    return "after_failure"


def parked(_: Told) -> str:
    return "parked"


def nothing(_: Told) -> int:
    return 0


def next_look(event: Told) -> object:
    has_gate = event.data.get("gate") is not None
    return None if has_gate else instant(event.data["until"])


CAUSE = dict.fromkeys(STATES) | {
    "job.unparked": None,
    "job.attempt_failed": after_failure,
    "job.lease_expired": after_failure,
    "job.parked": parked,
}
GATE = (
    dict.fromkeys(STATES)
    | {"job.unparked": None}
    | {"job.parked": lambda event: event.data.get("gate")}
)
RUN_AT = {
    "job.enqueued": moment("run_at"),
    "job.attempt_failed": moment("retry_at"),
    "job.snoozed": moment("until"),
    "job.parked": next_look,
    "job.unparked": moment("run_at"),
    "job.released": moment("until"),
    "job.lease_expired": moment("retry_at"),
    "job.retried": moment("run_at"),
}
ATTEMPT = {tag: member("attempt") for tag in STATES} | {
    "job.enqueued": nothing,
    "job.retried": nothing,
}
PARKINGS = {
    "job.attempt_failed": nothing,
    "job.snoozed": nothing,
    "job.parked": member("parkings"),
    "job.retried": nothing,
}
CODE = {
    "job.discarded": member("code"),
    "job.cancelled": member("code"),
    "job.retried": None,
}
ERROR_CODE = {
    "job.attempt_failed": member("code"),
    "job.parked": member("cause"),
    "job.lease_expired": member("cause"),
    "job.discarded": member("error_code"),
    "job.retried": None,
}
CANCEL_REQUESTED = dict.fromkeys(STATES, lambda _: False) | {
    "job.cancel_requested": lambda _: True
}
FINISHED_AT = {
    "job.succeeded": at,
    "job.discarded": at,
    "job.cancelled": at,
    "job.retried": None,
}


def rows(connection: psycopg.Connection[Any], until: int) -> Rows:
    found: Rows = {}
    for stream_id, events in streams(read(connection, until, "job")).items():
        if events[0].type == "job.enqueued":
            found[stream_id,] = row(events)
    return found


def row(events: list[Told]) -> dict[str, object]:
    birth = events[0].data
    claims = [event for event in events if event.type == "job.claimed"]
    stages = [event for event in events if event.type in STATES]
    return common(events) | {
        "version": len(events),
        "state": STATES[stages[-1].type],
        "cause": last(events, CAUSE),
        "kind": birth["kind"],
        "queue": birth["queue"],
        "priority": birth["priority"],
        "attempt": last(events, ATTEMPT),
        "max_attempts": birth["max_attempts"],
        "parkings": last(events, PARKINGS, 0),
        "run_at": last(events, RUN_AT),
        "deadline": (
            None
            if any(event.type == "job.retried" for event in events)
            else instant(birth["deadline"])
        ),
        "gate": last(events, GATE),
        "cancel_requested": last(events, CANCEL_REQUESTED, otherwise=False),
        "code": last(events, CODE),
        "error_code": last(events, ERROR_CODE),
        "owner_host": claims[-1].data["owner"]["host"] if claims else None,
        "owner_pid": claims[-1].data["owner"]["pid"] if claims else None,
        "owner_boot": id_of(claims[-1].data["owner"]["boot"]) if claims else None,
        "claimed_at": claims[-1].at if claims else None,
        "finished_at": last(events, FINISHED_AT),
        "operation_id": serves(birth, "fulfillment", "operation_id"),
        "order_stream_id": serves(birth, "order_fanout", "order_stream_id"),
        "order_id": (
            birth["args"].get("order_id") if birth["kind"] == "order_refund" else None
        ),
        "delivery_id": (
            serves(birth, "goods_delivery", "delivery_id")
            or serves(birth, "goods_reconcile", "delivery_id")
        ),
    }


def serves(birth: dict[str, Any], kind: str, name: str) -> object:
    return id_of(birth["args"].get(name)) if birth["kind"] == kind else None
