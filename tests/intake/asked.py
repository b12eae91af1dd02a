"""Who asks, and what for."""

from typing import Any

import msgspec
import psycopg

from application.access.principal import Principal
from application.operators.instruction import Instruction
from application.unit import Once
from domain.access.permissions import Permission
from domain.event import Actor, JsonObject

SHOP = Principal(
    tenant_id="acme",
    actor=Actor("shop", "web"),
    permissions=frozenset({Permission.ORDERS_WRITE, Permission.JOBS_WRITE}),
)
KEY = "key-0000-0001"
JOB: JsonObject = {"kind": "noop", "args": {"n": 1}}


def order(order_id: str = "A-1", **more: object) -> JsonObject:
    return {
        "orderId": order_id,
        "customerId": "anna",
        "kind": "purchase",
        "currency": "USD",
        "amountMinor": 1299,
        "lines": [{"line": 1, "type": "access", "days": 30}],
    } | more


def asking(key: str | None = None, body: object = None, **who: Any) -> Instruction:  # noqa: ANN401 - members of Principal
    """Return what the shop asks for, under a key if one is given."""
    principal = msgspec.structs.replace(SHOP, **who)
    instruction = principal.instruct("bought online", "request-1")
    if key is None:
        return instruction
    once = Once(
        tenant_id=principal.tenant_id,
        principal="shop:web",
        key=key,
        request={"route": "/v1/jobs", "body": body},
        status=202,
    )
    return msgspec.structs.replace(instruction, once=once)


def births(
    connection: psycopg.Connection[Any],
) -> list[tuple[str, str, dict[str, Any]]]:
    """Return tenant, tag and meta of all events, in their order."""
    return connection.execute(
        "SELECT tenant_id, type, meta FROM counterfoil.events ORDER BY position"
    ).fetchall()
