"""What operators ask for in a large installation, and what looks into its tables."""

from typing import TYPE_CHECKING, Any
from uuid import UUID

import psycopg

from domain.stream import Ref, StreamKind
from infrastructure.bulk.items import PostgresItems
from infrastructure.reviews.reviews import PostgresReviews
from projections.queries.bulk.items import BulkItems
from projections.queries.bulk.operations import BulkList
from projections.queries.records.callbacks import CallbackList, CallbacksWanted

if TYPE_CHECKING:
    from tests.performance.stage import Stage

# One row of each, as the product would have left it; the others are like it.
_FIRST = """
WITH bulk AS (
    INSERT INTO counterfoil.bulk_operations
           (stream_id, tenant_id, version, state, action, parameters, items_per_second,
            most_items, most_unapproved, requested_by, reason, is_frozen, items,
            position, verdicts, job, correlation_id)
    VALUES (counterfoil.uuid7(), 'default', 1, 'previewing', 'retry', '{}', 10, 1000,
            100, '{"type": "operator", "id": "ann"}', 'the panel is back', true, 1, 0,
            '{}', counterfoil.uuid7(), 'bulk:b')
    RETURNING stream_id, tenant_id
), items AS (
    INSERT INTO counterfoil.bulk_items (bulk_id, tenant_id, n, target_id, verdict)
    SELECT stream_id, tenant_id, 1, counterfoil.uuid7(), 'ready'
      FROM bulk
)
INSERT INTO counterfoil.delivery_evidence
       (tenant_id, delivery_id, sha256, size_bytes, media_type, added_by)
VALUES ('default', counterfoil.uuid7(), sha256('proof'), 5, 'text/plain', 'ann')
"""

DIFFERENT = {
    "bulk_operations": """
        'stream_id', counterfoil.uuid7(),
        'tenant_id', CASE n % 500 WHEN 0 THEN 'default' ELSE 'elsewhere' END""",
    "bulk_items": "'bulk_id', counterfoil.uuid7(), 'n', 1 + 0 * n",
    "delivery_evidence": "'delivery_id', counterfoil.uuid7(), 'size_bytes', 5 + 0 * n",
}
"""What differs from row to row; see tests/performance/filling.py."""

_BULK = "SELECT bulk_id FROM counterfoil.bulk_items ORDER BY bulk_id LIMIT 1"
_SHOWN = """
SELECT delivery_id, encode(sha256, 'hex')
  FROM counterfoil.delivery_evidence
 ORDER BY delivery_id
 LIMIT 1
"""


def begin(connection: psycopg.Connection[Any]) -> None:
    """Insert the first row of each table."""
    connection.execute(_FIRST)


def look_at_a_bulk(stage: "Stage") -> None:
    lend = stage.parts.pool.connection
    bulk = UUID(str(stage.one(_BULK)))
    assert stage.streams.head(Ref(StreamKind.BULK, bulk))
    assert BulkList(lend).one("default", bulk)


def look_at_items(stage: "Stage") -> None:
    pool = stage.parts.pool
    bulk = UUID(str(stage.one(_BULK)))
    items = PostgresItems(pool, stage.parts.store)
    assert len(items.page(bulk, 1, 100)) == 1
    assert items.verdicts(bulk) == {"ready": 1}
    assert len(BulkItems(pool.connection)("default", bulk, after=0, limit=50)) == 1


def list_bulks(stage: "Stage") -> None:
    bulks = BulkList(stage.parts.pool.connection)
    assert len(bulks.page("default", None, 50)) == 50


def list_callbacks(stage: "Stage") -> None:
    callbacks = CallbackList(stage.parts.pool.connection)
    assert len(callbacks(CallbacksWanted(tenant_id="default", limit=50))) == 51


def look_for_evidence(stage: "Stage") -> None:
    ((delivery, digest),) = stage.connection.execute(_SHOWN).fetchall()
    reviews = PostgresReviews(stage.parts.pool)
    assert reviews.missing_evidence(delivery, [digest, "00"]) == ("00",)


SCENES: dict[Any, set[str]] = {
    look_at_a_bulk: {"bulk_operations_pkey"},
    look_at_items: {"bulk_items_pkey"},
    list_bulks: {"bulk_operations_tenant"},
    list_callbacks: {"provider_callbacks_tenant"},
    look_for_evidence: {"delivery_evidence_pkey"},
}
