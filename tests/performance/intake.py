"""Keys of requests in a large installation, and what looks for what they made."""

from typing import TYPE_CHECKING, Any

import msgspec
import psycopg
import pytest

from application.access.principal import Principal
from application.once.commit import AnsweredBeforeError
from application.unit import Once
from domain.access.permissions import EVERY
from domain.event import Actor
from infrastructure.front_door import intake_over
from infrastructure.once.answers import PostgresAnswers
from projections.queries.heads.operation import FindOperation
from projections.queries.heads.order import FindOrder
from tests.performance.shop import order

if TYPE_CHECKING:
    from tests.performance.stage import Stage

_FIRST = """
SELECT counterfoil.keep_key('default', 'shop:web', 'key-0000-0000',
                            counterfoil.request_hash('{}'), 202, 'job', 'one')
"""
DIFFERENT = {"idempotency_keys": "'key', 'key-filled-' || n"}
"""What differs from row to row; see tests/performance/filling.py."""

_SHOP = Principal(
    tenant_id="default", actor=Actor("shop", "web"), permissions=EVERY
).instruct("the test wants it", "request-1")


def begin(connection: psycopg.Connection[Any]) -> None:
    """Let one request be answered."""
    connection.execute(_FIRST)


def ask_under_a_key(stage: "Stage") -> None:
    once = Once(
        tenant_id="default",
        principal="shop:web",
        key="key-0000-0001",
        request={"kind": "noop"},
        status=202,
    )
    pool = stage.parts.pool
    shop = intake_over(pool, stage.parts.store)
    asking = msgspec.structs.replace(_SHOP, once=once)
    answers = PostgresAnswers(pool)
    assert answers.find(once) is None
    job = shop.enqueue({"kind": "noop"}, asking)
    with pytest.raises(AnsweredBeforeError):
        shop.enqueue({"kind": "noop"}, asking)
    found = answers.find(once)
    assert found is not None
    assert found.id == str(job.job_id)


def find_what_was_made(stage: "Stage") -> None:
    lend = stage.parts.pool.connection
    made = FindOrder(lend)("default", str(order(0)["orderId"]))
    assert made is not None
    assert FindOrder(lend)("default", made.stream_id) == made
    assert FindOperation(lend)("default", stage.operation) is not None


SCENES: dict[Any, set[str]] = {
    ask_under_a_key: {"idempotency_keys_pkey"},
    find_what_was_made: {
        "orders_pkey",
        "orders_order_id",
        "operations_pkey",
        "operations_order",
        "deliveries_line",
    },
}
