"""The book of attempts: each event of work and of goods, told once more."""

from typing import Any

import psycopg

from tests.projections.book.told import Told, read, streams

AFTER = {
    "job": {
        "claimed": "running",
        "cancel_requested": "running",
        "succeeded": "succeeded",
        "discarded": "discarded",
        "cancelled": "cancelled",
    },
    "fulfillment": {
        "requested": "pending",
        "retried": "pending",
        "attempt_started": "running",
        "succeeded": "succeeded",
        "failed": "failed",
        "cancelled": "cancelled",
    },
    "goods": {
        "owed": "pending",
        "purchase_refused": "pending",
        "deferred": "pending",
        "retried": "pending",
        "purchase_submitted": "submitted",
        "purchase_accepted": "submitted",
        "review_opened": "needs_review",
        "decision_proposed": "needs_review",
        "delivered": "delivered",
        "failed": "failed",
        "refunded": "refunded",
        "cancelled": "cancelled",
    },
}
OTHERWISE = {"job": "waiting", "fulfillment": "retrying", "goods": None}
KINDS = {"job": "job", "fulfillment": "operation", "goods": "delivery"}


def row(told: Told) -> dict[str, object]:
    """Return the row of one event."""
    of, _, what = told.type.partition(".")
    data, meta = told.data, told.meta
    causation = meta.get("causation", {})
    row: dict[str, object] = {
        "stream_id": told.stream_id,
        "version": told.version,
        "tenant_id": told.tenant_id,
        "stream_kind": KINDS[of],
        "position": told.position,
        "type": told.type,
        "status": AFTER[of].get(what, OTHERWISE[of]),
        "attempt": data.get("attempt", data.get("purchase")),
        "code": data["code"] if "code" in data else data.get("cause"),
        "error_code": data.get("error_code", data.get("failure_class")),
        "correlation_id": meta["correlation_id"],
        "recorded_at": told.at,
        "actor_type": meta["actor"]["type"],
        "actor_id": meta["actor"]["id"],
        "token": data.get("token") if of == "job" else causation.get("token"),
    }
    if what == "reconciled":
        row |= {"code": data["found"], "error_code": data["code"]}
    if what in {"decision_proposed", "review_decided"}:
        row["code"] = data["verdict"]
    if what == "sender_ended":
        row["code"] = data["how"]
    return row


def rows(
    connection: psycopg.Connection[Any], until: int
) -> dict[tuple[object, ...], dict[str, object]]:
    """Return what the read model must hold at a position."""
    return {
        (told.stream_id, told.version): row(told)
        for stream in streams(read(connection, until)).values()
        for told in stream
        if told.type.split(".")[0] in AFTER
    }
