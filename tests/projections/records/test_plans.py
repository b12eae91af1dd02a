"""What a page looks up beside its rows goes by an index, row by row."""

from collections.abc import Callable
from typing import Any, Final

import pytest

from bench.lists.laid.jobs import JOBS
from bench.lists.laid.records import (
    DELIVERIES,
    ENTITLEMENTS,
    OPERATIONS,
    ORDERS,
)
from bench.lists.rows import lay
from projections.queries.page import MOST
from projections.queries.records.entitlements import applied_versions
from projections.queries.records.related import (
    customers,
    order_ids,
    told_by_streams,
)
from projections.queries.records.waits import waits
from projections.queries.terms import Among, Asked
from projections.reading import Reading, reading
from tests.fixtures.database import TestDatabase
from tests.performance.lists.plans import Plans

pytestmark = pytest.mark.database

ROWS: Final = 10_000
TABLES: Final = {
    "operations": OPERATIONS,
    "orders": ORDERS,
    "entitlements": ENTITLEMENTS,
    "jobs": JOBS,
    "deliveries": DELIVERIES,
}

type Look = Callable[[Reading, list[Any]], object]

LOOKS: Final[dict[str, tuple[str, str, Look, dict[str, set[str]]]]] = {
    "whose they are": (
        "entitlements",
        "stream_id",
        customers,
        {"read_entitlements_a": {"pkey"}},
    ),
    "what the shop calls them": (
        "orders",
        "stream_id",
        order_ids,
        {"read_orders_a": {"pkey"}},
    ),
    "what a customer has": (
        "entitlements",
        "customer_id",
        lambda snapshot, names: told_by_streams(
            snapshot,
            Asked(terms=(Among("customer", tuple(names[:40])),)),
            "customer",
            "entitlements.customer_id",
        ),
        {"read_entitlements_a": {"customer_id"}},
    ),
    "how far the panel was brought": (
        "operations",
        "entitlement_id",
        applied_versions,
        {"read_operations_a": {"applied"}},
    ),
    "what waits for what": (
        "operations",
        "order_stream_id",
        waits,
        {
            "read_operations_a": {"order_stream_id", "pkey"},
            "read_jobs_a": {"operation"},
        },
    ),
    "what is not decided yet": (
        "jobs",
        "order_stream_id",
        waits,
        {
            "read_operations_a": {"order_stream_id", "pkey"},
            "read_jobs_a": {"order_stream"},
        },
    ),
    "what goods wait for": (
        "deliveries",
        "order_stream_id",
        waits,
        {"read_deliveries_a": {"order_stream_id"}},
    ),
}


@pytest.fixture
def plans(database: TestDatabase) -> Plans:
    connection = database.connect()
    for name, columns in TABLES.items():
        lay(connection, f"read_{name}_a", columns, ROWS)
    return Plans(database.connect())


def test_every_look_goes_by_its_index(plans: Plans) -> None:
    for name, (model, column, look, wanted) in LOOKS.items():
        values = [
            row[0]
            for row in plans.connection.execute(
                f"SELECT DISTINCT {column} FROM counterfoil.read_{model}_a "  # noqa: S608
                f"WHERE {column} IS NOT NULL LIMIT {MOST}"
            )
        ]
        assert len(values) == MOST
        for table, indexes in wanted.items():
            with plans.of(table) as work, reading(plans.lend, *TABLES) as snapshot:
                look(snapshot, values)

            assert work.indexes == {f"{table}_{index}" for index in indexes}, name
            # A look that finds nothing in one of them costs a row at most.
            assert work.looked_at <= 3 * MOST, name
