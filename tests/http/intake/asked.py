"""What shops ask for over HTTP."""

from typing import Any

import httpx

KEY = "key-0000-0001"
JOB: dict[str, Any] = {"kind": "noop", "args": {"n": 1, "who": "anna"}}


def order(**more: object) -> dict[str, Any]:
    return {
        "orderId": "A-1001",
        "customerId": "anna",
        "kind": "purchase",
        "currency": "USD",
        "amountMinor": 1299,
        "lines": [{"line": 1, "type": "access", "days": 30}],
    } | more


def under(key: str) -> dict[str, str]:
    return {"Idempotency-Key": key}


def pointers(answer: httpx.Response) -> list[str]:
    """Return where the request is wrong, as the problem tells it."""
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    return [
        each.get("pointer") or each["parameter"] for each in answer.json()["errors"]
    ]
