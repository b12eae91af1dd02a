"""The book of the audit: whatever an operator is named as the actor of."""

import re
from collections.abc import Iterable
from typing import Any

import psycopg

from tests.projections.book.told import Row, Rows, Told, id_of, read

KINDS = {
    "order": "order",
    "wallet": "order",
    "addon": "order",
    "entitlement": "entitlement",
    "fulfillment": "operation",
    "goods": "delivery",
    "access": "event",
    "job": "job",
    "maintenance": "maintenance",
    "projection": "projection",
    "provider": "provider",
    "credential": "provider",
}
NAMED = (
    "bulk",
    "maintenance",
    "projection",
    "delivery",
    "provider",
    "credential",
    "callback",
)
"""What a refused action may be about: `open_maintenance`."""

OF_ENTITLEMENTS = {
    "extend",
    "set_limits",
    "set_squads",
    "enable",
    "disable",
    "reset_traffic",
    "pause",
    "resume",
    "reconcile",
}


def rows(connection: psycopg.Connection[Any], until: int) -> Rows:
    return told(read(connection, until))


def told(log: Iterable[Told]) -> Rows:
    return {
        (event.position,): row(event)
        for event in log
        if event.meta["actor"]["type"] == "operator"
    }


def camel(figures: dict[str, Any]) -> dict[str, Any]:
    return {
        re.sub("_([a-z])", lambda it: it[1].upper(), name): (
            camel(value) if isinstance(value, dict) else value
        )
        for name, value in figures.items()
    }


def row(event: Told) -> Row:
    meta, data = event.meta, event.data
    is_refused = event.type == "operator.action_refused"
    is_action = event.type == "operator.action_taken"
    row: Row = {
        "position": event.position,
        "stream_id": event.stream_id,
        "tenant_id": event.tenant_id,
        "recorded_at": event.at,
        "actor_type": "operator",
        "actor_id": meta["actor"]["id"],
        "role": meta.get("role"),
        "category": data["category"] if is_action else None,
        "is_part": "action" in meta and not is_action,
        "before": camel(data["before"]) if is_action else None,
        "after": camel(data["after"]) if is_action else None,
        "outcome": "refused" if is_refused else "accepted",
        "code": data["code"] if is_refused else None,
        "reason": meta.get("reason"),
        "request_id": meta.get("causation", {}).get("request_id"),
        "correlation_id": meta["correlation_id"],
        "commit_id": id_of(meta.get("commit_id")),
    }
    return row | named(event)


def named(event: Told) -> Row:
    """Return what was done, and of what."""
    data = event.data
    if event.type == "operator.action_taken":
        action, target, kind = (data[it] for it in ("action", "target", "target_kind"))
    elif event.type == "operator.action_refused":
        action, target, kind = data["action"], data["target"], None
        if action in OF_ENTITLEMENTS:
            kind = "entitlement"
        elif action.endswith(tuple(f"_{name}" for name in NAMED)):
            word = action.split("_", 1)[1]
            kind = KINDS.get(word, word)
    else:
        action, kind = event.type, event.type.split(".")[0]
        target = str(event.stream_id)
        if "projection" in data:
            target = f"projection:{data['projection']}"
        elif kind in ("provider", "credential"):
            target = f"provider:{data['provider']}"
        elif "letter" in data:
            target = data["letter"]
        elif event.type == "callback.replayed":
            target = f"callback:{data['callback']}"
        elif event.type == "access.payload_viewed":
            target = f"event:{data['position']}"
        kind = KINDS.get(kind, kind)
    return {"action": action, "target": target, "target_kind": kind}
