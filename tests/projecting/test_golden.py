"""S34: whatever was ever written can be projected, however old it is."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from infrastructure.ids import new_id
from infrastructure.postgres.database import Database
from projections.read_models.all import ALL
from tests.fixtures.database import TestDatabase
from tests.fixtures.read_models import (
    fold_from_zero,
    position_of,
    project,
    rows_of,
)

pytestmark = pytest.mark.database

GOLDEN = Path(__file__).parents[1] / "golden"
FILES = sorted([*GOLDEN.glob("events/*.json"), *GOLDEN.glob("earlier/*.json")])
BIRTHS = {
    "job": "job.enqueued",
    "fulfillment": "fulfillment.requested",
    "entitlement": "entitlement.granted",
    "order": "order.paid",
    "maintenance": "maintenance.opened",
    "goods": "goods.owed",
}
DEAD = {"job.retried": "job.discarded", "fulfillment.retried": "fulfillment.failed"}

INSERT = """
INSERT INTO counterfoil.events
       (tenant_id, stream_id, version, type, schema, data, meta)
VALUES ('default', %(stream_id)s, %(version)s, %(type)s, %(schema)s,
        %(data)s::jsonb, %(meta)s::jsonb)
"""


def stored(file: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return read


def stream_of(row: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the events of a stream that ends with `row`."""
    tag = row["type"]
    before = [BIRTHS.get(tag.partition(".")[0]), DEAD.get(tag)]
    events = [
        stored(GOLDEN / "events" / f"{each}.1.json")
        for each in before
        if each is not None and each != tag
    ]
    return [*events, row]


@pytest.fixture
def opened(database: TestDatabase) -> Iterator[Database]:
    with Database(database.conninfo, pool_size=2) as opened:
        yield opened


def test_every_event_ever_written_is_projected(
    opened: Database, database: TestDatabase
) -> None:
    connection = database.connect()
    for file in FILES:
        stream_id = new_id()
        for version, row in enumerate(stream_of(stored(file)), start=1):
            told = {
                "stream_id": stream_id,
                "version": version,
                "type": row["type"],
                "schema": row["schema"],
                "data": json.dumps(row["data"]),
                "meta": json.dumps(row["meta"]),
            }
            connection.execute(INSERT, told)

    project(opened)

    aside = "SELECT projection, type, reason FROM counterfoil.projection_set_aside"
    assert connection.execute(aside).fetchall() == []
    for projection in ALL:
        until = position_of(connection, projection, "a")
        rows = rows_of(connection, projection, "a")
        assert rows == fold_from_zero(connection, projection, until)
