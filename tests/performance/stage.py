"""A large installation that each module's tests share, in four states of knowledge."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from application.operators.instruction import instruct
from application.operators.retry import retry_job
from application.operators.target import Targets
from infrastructure.client import Client
from infrastructure.ids import new_id
from infrastructure.postgres.streams import PostgresStreams
from projections.why import Why
from tests.fixtures.database import Servers, TestDatabase
from tests.limits.room import limit
from tests.performance.filling import fill
from tests.performance.shop import processor
from tests.processor.rig import NOOP, Rig

FULL = "template_full"
_FIRST = "SELECT stream_id FROM counterfoil.{} ORDER BY stream_id LIMIT 1"


@dataclass
class Stage:
    """A large installation, a worker's parts in it, and what they have made before."""

    database: TestDatabase
    parts: Rig

    @property
    def connection(self) -> psycopg.Connection[Any]:
        return self.parts.connection

    @property
    def client(self) -> Client:
        return Client(self.connection)

    @property
    def streams(self) -> PostgresStreams:
        return PostgresStreams(self.parts.pool)

    @property
    def dead(self) -> UUID:
        """The first job that died: the product has made it."""
        return UUID(str(self.one(_FIRST.format("jobs_dead"))))

    @property
    def operation(self) -> UUID:
        """The first operation: the product has made and succeeded it."""
        return UUID(str(self.one(_FIRST.format("operations"))))

    @property
    def username(self) -> str:
        """The panel user of the first customer."""
        first = "SELECT username FROM counterfoil.entitlements WHERE customer_id = 'c0'"
        return str(self.one(first))

    def why(self, key: object) -> None:
        story = Why(self.parts.pool.connection)(
            str(key), tenant_id="default", limit=100
        )
        assert story is not None
        assert story.events

    def retry(self, key: object) -> None:
        targets = Targets(self.streams, self.streams, self.parts.kinds)
        again = retry_job(targets, self.parts.store, new_id)
        again(str(key), instruct("ann", "it is repaired"))

    def one(self, statement: str) -> Any:  # noqa: ANN401 - a value of a test's query
        (row,) = self.connection.execute(statement.encode()).fetchall()
        return row[0]


@pytest.fixture(scope="module")
def full(servers: Servers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The name of a database in which everything is large."""
    server = servers.get("embedded")
    database = TestDatabase(server.create(FULL, "template_migrated"))
    with processor(database, tmp_path_factory.mktemp("full"), NOOP) as parts:
        fill(parts, database.connect())
    database.close()
    yield FULL
    server.drop(FULL)


@pytest.fixture(
    scope="module",
    params=[
        "loaded auto",
        "loaded force_generic_plan",
        "analyzed auto",
        "analyzed force_generic_plan",
    ],
)
def stage(
    request: pytest.FixtureRequest,
    full: str,
    servers: Servers,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Stage]:
    known, _, mode = request.param.partition(" ")
    server = servers.get("embedded")
    name = server.fresh_name()
    conninfo = make_conninfo(
        server.create(name, full), options=f"-c plan_cache_mode={mode}"
    )
    database = TestDatabase(conninfo)
    # A crowd of 50,000 is there already.
    limit(database.connect())
    if known == "analyzed":
        database.connect().execute("ANALYZE")
    with ExitStack() as open_:
        open_.callback(server.drop, name)
        open_.callback(database.close)
        parts = open_.enter_context(
            processor(database, tmp_path_factory.mktemp("panel"), NOOP)
        )
        yield Stage(database, parts)
