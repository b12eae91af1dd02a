"""I14: what the commit of the SQL call accepted is there after a crash."""

import json
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from infrastructure import embedded
from infrastructure.embedded.postmaster import read_pid_file
from infrastructure.postgres.database import connect
from infrastructure.postgres.migrator import migrate
from tests.fixtures.workers import until
from tests.front_door import rows

pytestmark = [pytest.mark.database, pytest.mark.crash]

SETTLE = "SELECT counterfoil.settle_order(%s::jsonb)"
REFUND = "SELECT counterfoil.refund_order(%s::jsonb)"
REFUNDED = {"orderId": "o", "reason": "charged back"}
ORDER = {
    "orderId": "o",
    "customerId": "c",
    "kind": "purchase",
    "currency": "USD",
    "amountMinor": 1,
    "lines": [{"line": 1, "type": "access", "days": 30}],
}


@pytest.fixture
def data_dir() -> Iterator[Path]:
    """A short path that the server's account may enter."""
    folder = Path(tempfile.mkdtemp(prefix="counterfoil-front-door-"))
    folder.chmod(0o711)
    yield folder / "var"
    shutil.rmtree(folder, ignore_errors=True)


def kill_server(home: Path) -> None:
    """End the server that this test started, as a power cut does."""
    record = read_pid_file(home / "data")
    assert record is not None
    os.kill(record.pid, signal.SIGKILL)


def has_ended(connection: psycopg.Connection[Any]) -> bool:
    """Whether the backend has noticed by now that its server is gone."""
    try:
        connection.execute("SELECT 1")
    except psycopg.OperationalError:
        return True
    return False


def test_i14_a_settlement_and_a_refund_survive_the_death_of_the_server(
    data_dir: Path,
) -> None:
    with embedded.serve(data_dir) as server:
        migrate(server.uri)
        with connect(server.uri) as shop:
            (settled,) = rows.one(shop, SETTLE, json.dumps(ORDER))
            (refunded,) = rows.one(shop, REFUND, json.dumps(REFUNDED))
            accepted = rows.counted(shop)
            kill_server(server.home)
            until(lambda: has_ended(shop))

    with embedded.serve(data_dir) as server, connect(server.uri) as reader:
        assert rows.counted(reader) == accepted
        assert accepted["orders"] == accepted["outbox"] == 1
        assert accepted["jobs"] == accepted["external_keys"] == 2
        again = [
            rows.one(reader, ask, json.dumps(told))[0]
            for ask, told in ((SETTLE, ORDER), (REFUND, REFUNDED))
        ]
        assert again == [each | {"replayed": True} for each in (settled, refunded)]
