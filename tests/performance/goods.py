"""Goods in a large installation, and what looks into their tables."""

from typing import TYPE_CHECKING, Any
from uuid import UUID

import psycopg

from application.providers.book import Provider
from domain.event import Actor
from domain.stream import Ref, StreamKind
from infrastructure.guards.standing import standing
from infrastructure.processor.senders.identity import this_machine
from infrastructure.processor.senders.proof import Undertaker
from infrastructure.providers.registry.bodies import PostgresSealedBodies
from infrastructure.providers.registry.rows import read_standing

if TYPE_CHECKING:
    from tests.performance.stage import Stage

# One row of each, as the product would have left it; the others are like it.
_FIRST = """
WITH delivery AS (
    INSERT INTO counterfoil.deliveries
           (stream_id, tenant_id, version, state, order_stream_id, order_id,
            customer_id, line, provider, product, quantity, recipient, currency,
            cost_minor, price_minor, paid_minor, purchases, decision, standing,
            withdraws_to, senders, is_doubtful, correlation_id)
    VALUES (counterfoil.uuid7(), 'default', 1, 'delivered', counterfoil.uuid7(), 'o',
            'c', 1, 'stars', '{"kind": "telegram_stars", "quantity": 50}', 1,
            'somebody', 'USD', 50, 100, 100, 0, 0, 'none', 'none', '[]', false,
            'order:o')
), provider AS (
    INSERT INTO counterfoil.goods_providers (tenant_id, slug, adapter, is_enabled)
    VALUES ('default', 'stars', 'fragment', true)
), limits AS (
    INSERT INTO counterfoil.goods_limits
           (tenant_id, provider, currency, spend_limit_minor)
    VALUES ('default', 'stars', 'USD', 1000000)
), spending AS (
    INSERT INTO counterfoil.goods_spending
    VALUES (counterfoil.uuid7(), 1, 'default', 'stars', 'USD', 50, counterfoil.now())
)
INSERT INTO counterfoil.provider_callbacks
       (id, tenant_id, provider, event_id, state, body_sha256, body_bytes, body,
        body_key)
VALUES (counterfoil.uuid7(), 'default', 'stars', 'e', 'accepted',
        sha256('body'), 4, 'sealed', 'k1')
"""

DIFFERENT = {
    "deliveries": """
        'stream_id', counterfoil.uuid7(),
        'order_stream_id', counterfoil.uuid7(),
        'state', CASE n % 500 WHEN 0 THEN 'needs_review' ELSE 'delivered' END,
        'code', CASE n % 500 WHEN 0 THEN 'timeout' END""",
    "goods_spending": """
        'delivery', counterfoil.uuid7(),
        'submitted_at', counterfoil.now() - make_interval(mins => 2 * n)""",
    "provider_callbacks": """
        'id', counterfoil.uuid7(),
        'tenant_id', CASE n % 50 WHEN 0 THEN 'default' ELSE 'elsewhere' END,
        'event_id', 'event ' || n,
        'state', CASE n % 500 WHEN 0 THEN 'ignored' ELSE 'accepted' END,
        'code', CASE n % 500 WHEN 0 THEN 'unknown_key' END""",
}
"""What differs from row to row, by table."""

_A_LINE = """
SELECT stream_id, order_stream_id
  FROM counterfoil.deliveries
 ORDER BY stream_id
 LIMIT 1
"""
_SPENT = "SELECT counterfoil.spent_of(l) FROM counterfoil.goods_limits l"


def begin(connection: psycopg.Connection[Any]) -> None:
    """Insert the first row of each table."""
    connection.execute(_FIRST)


def look_at_a_delivery(stage: "Stage") -> None:
    (delivery, order) = stage.connection.execute(_A_LINE).fetchall()[0]
    assert stage.streams.head(Ref(StreamKind.DELIVERY, UUID(str(delivery))))
    assert len(stage.streams.deliveries_of(UUID(str(order)))) == 1


def prove_ends(stage: "Stage") -> None:
    assert this_machine()
    undertaker = Undertaker(stage.parts.pool, stage.parts.store, Actor("worker", "w"))
    assert undertaker.round() == 0


def ask_the_restore_guard(stage: "Stage") -> None:
    assert standing(stage.parts.pool).left == 0


def count_what_is_spent(stage: "Stage") -> None:
    assert stage.one(_SPENT) >= 50


def count_bodies(stage: "Stage") -> None:
    assert PostgresSealedBodies(stage.parts.pool).counts() == {"k1": 100}


def ask_how_far_a_provider_is_used(stage: "Stage") -> None:
    provider = Provider(
        tenant_id="default", slug="stars", adapter="fragment", is_enabled=True
    )
    assert read_standing(stage.connection, provider).n_open == 100


SCENES = {
    look_at_a_delivery: {"deliveries_pkey", "deliveries_line"},
    prove_ends: {"deliveries_at_large"},
    ask_the_restore_guard: {"deliveries_unfinished"},
    count_what_is_spent: {"goods_spending_window"},
    count_bodies: {"provider_callbacks_open"},
    ask_how_far_a_provider_is_used: set[str](),
}

WALKING = {
    ask_the_restore_guard: "a person's command, on a table without statistics",
    ask_how_far_a_provider_is_used: "a person's command: is it named by anything?",
}
"""What may read a whole table once, and why."""
