"""An outbox that fills, a reader of it, and whoever publishes by hand."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from infrastructure.postgres.database import Database
from projections.queries.outbox.lag import Backlog, OutboxLag
from projections.queries.outbox.series import Series, SeriesAsked
from projections.read_models.all import BY_NAME
from tests.fixtures.database import TestDatabase
from tests.fixtures.read_models import project

TELL = """
WITH told AS (
    INSERT INTO counterfoil.events
           (tenant_id, stream_id, version, type, schema, data, meta, recorded_at)
    SELECT %(tenant)s, counterfoil.uuid7(), 1, %(topic)s, 1, %(data)s::jsonb,
           '{"actor": {"type": "shop", "id": "s"}, "correlation_id": "c",
             "commit_id": "018f0000-0000-7000-8000-000000000000"}'::jsonb,
           counterfoil.now() - %(ago)s::interval + n * %(apart)s::interval
      FROM generate_series(0, %(times)s - 1) n
     ORDER BY n
    RETURNING *
)
INSERT INTO counterfoil.outbox
       (id, position, tenant_id, topic, stream_id, version, data, recorded_at)
SELECT counterfoil.uuid7(), position, tenant_id, type, stream_id, version, '{}',
       recorded_at
  FROM told
"""

DATA = {
    "job.succeeded": '{"attempt": 1, "token": 2, "result": null}',
    "job.discarded": '{"attempt": 1, "token": 2, "code": "permanent", '
    '"error_code": "e", "error": "it broke"}',
    "job.cancelled": '{"nobody": "can decode this"}',
}


@dataclass
class Outbox:
    """What the tests do to an outbox, and what they ask of it."""

    connection: psycopg.Connection[Any]
    pool: Database

    def tell(
        self,
        topic: str = "job.succeeded",
        *,
        times: int = 1,
        ago: timedelta = timedelta(),
        apart: timedelta = timedelta(),
        tenant: str = "default",
    ) -> None:
        """Record messages, each with its event."""
        self.connection.execute(
            TELL,
            {
                "topic": topic,
                "data": DATA[topic],
                "times": times,
                "ago": ago,
                "apart": apart,
                "tenant": tenant,
            },
        )

    def publish(self, where: str = "true") -> int:
        """Publish as a person would, and return how many messages."""
        return self.connection.execute(
            "UPDATE counterfoil.outbox SET published_at = counterfoil.now()"  # noqa: S608
            f" WHERE published_at IS NULL AND ({where})"
        ).rowcount

    def project(self) -> None:
        """Bring the read model to the horizon."""
        project(self.pool, [BY_NAME["outbox_lag"]])

    def empty(self) -> None:
        """Forget everything but the numbers of positions."""
        with self.connection.transaction():
            self.connection.execute("SET LOCAL session_replication_role = replica")
            self.connection.execute(
                """
                TRUNCATE counterfoil.events, counterfoil.outbox,
                         counterfoil.outbox_gone, counterfoil.checkpoints,
                         counterfoil.read_outbox_lag_a
                """
            )

    @property
    def lag(self) -> OutboxLag:
        return OutboxLag(self.pool.connection)

    def now(self, topic: str | None = None, tenant: str | None = None) -> Backlog:
        return self.lag(topic, tenant)

    def series(self, **asked: Any) -> Series:  # noqa: ANN401 - of SeriesAsked
        return self.lag.series(SeriesAsked(**asked))


@pytest.fixture
def outbox(database: TestDatabase) -> Iterator[Outbox]:
    with Database(database.conninfo, pool_size=2) as pool:
        yield Outbox(database.connect(), pool)
