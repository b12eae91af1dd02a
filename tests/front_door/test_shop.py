"""The example shop: its payment and our order stand or fall together (I1)."""

import os
import subprocess
import sys
from importlib import util
from pathlib import Path
from types import ModuleType

import pytest

from tests.fixtures.database import TestDatabase
from tests.front_door import rows
from tests.front_door.rows import Connection

pytestmark = pytest.mark.database

ROOT = Path(__file__).resolve().parents[2]
SHOP = ROOT / "examples" / "shop" / "shop.py"
PAYMENTS = "SELECT count(*) FROM public.shop_payments"


@pytest.fixture
def shop() -> ModuleType:
    """The example as a module."""
    spec = util.spec_from_file_location("shop", SHOP)
    assert spec is not None
    assert spec.loader is not None
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def both(connection: Connection) -> tuple[int, int]:
    """Return how many payments and how many orders there are."""
    (payments,) = rows.one(connection, PAYMENTS)
    return int(payments), rows.counted(connection)["orders"]


def test_a_committed_payment_has_its_order(
    connection: Connection, shop: ModuleType
) -> None:
    connection.execute(shop.CREATE_PAYMENTS)

    settled = shop.take_payment(connection, "order-1", "alice", 499)

    assert both(connection) == (1, 1)
    assert settled.job_id is not None


def test_a_payment_that_is_rolled_back_leaves_neither(
    connection: Connection, shop: ModuleType
) -> None:
    connection.execute(shop.CREATE_PAYMENTS)

    with connection.transaction(force_rollback=True):
        shop.take_payment(connection, "order-1", "alice", 499)
        assert both(connection) == (1, 1)

    assert both(connection) == (0, 0)


def test_an_order_that_is_refused_takes_no_payment(
    connection: Connection, shop: ModuleType
) -> None:
    connection.execute(shop.CREATE_PAYMENTS)

    with pytest.raises(Exception, match="customerId"):
        shop.take_payment(connection, "order-1", "no visible name ", 499)

    assert both(connection) == (0, 0)


def test_it_runs_as_its_readme_says(database: TestDatabase) -> None:
    told = [
        subprocess.run(
            [sys.executable, str(SHOP), "order-1", "alice", "499"],
            env={
                **os.environ,
                "COUNTERFOIL_DATABASE_URL": database.url,
                "PYTHONPATH": str(ROOT),
            },
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        ).stdout
        for _ in range(2)
    ]

    assert told[0].startswith("order order-1 is settled; job ")
    assert told[1].startswith("order order-1 is settled (it was settled before); job ")
    assert both(database.connect()) == (1, 1)
