"""Paid orders reach a failing panel through a real worker and a real database."""

import pytest

from infrastructure.client import Client
from infrastructure.processor.worker import Worker
from infrastructure.simulators.panel.faults import FAULT_NAMES, Rotation
from infrastructure.simulators.panel.simulator import PanelSimulator
from tests.application.installed import assert_book_agrees, drain
from tests.fixtures.database import TestDatabase

CUSTOMERS = 20
ORDERS = 60

pytestmark = pytest.mark.database

OWED = """
SELECT username, to_char((desired->>'ends_at')::timestamptz AT TIME ZONE 'UTC',
                         'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
  FROM counterfoil.entitlements
"""


def settle_orders(database: TestDatabase) -> None:
    client = Client(database.connect())
    for number in range(ORDERS):
        client.settle_order(
            {
                "orderId": f"o{number}",
                "customerId": f"c{number % CUSTOMERS}",
                "kind": "renewal",
                "currency": "USD",
                "amountMinor": 100,
                "lines": [{"line": 1, "type": "access", "days": 30}],
            }
        )


def test_every_order_is_fulfilled_and_the_panels_book_agrees(
    database: TestDatabase, panel: PanelSimulator, worker: Worker
) -> None:
    """I1, I2, I3: through the front door, the processor and a panel that fails."""
    names = tuple(name for name in FAULT_NAMES if not name.startswith("hang"))
    panel.faults.set(rotation=Rotation(rate=0.3, names=names, seed=1))
    settle_orders(database)

    worker.start()
    drain(database)

    connection = database.connect()
    states = connection.execute(
        "SELECT state, count(*) FROM counterfoil.orders GROUP BY state"
    ).fetchall()
    assert states == [("fulfilled", ORDERS)]
    owed = dict(connection.execute(OWED).fetchall())
    assert {user.username: user.expire_at for user in panel.users()} == owed
    assert len(owed) == CUSTOMERS
    assert any(request.fault for request in panel.book())
    assert_book_agrees(database, panel)
