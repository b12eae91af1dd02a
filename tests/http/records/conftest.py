"""A day of two tenants, seen over HTTP."""

from collections.abc import Generator, Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import pytest
from psycopg import sql

from domain.jobs.outcome import Completed, Fail, Retry
from infrastructure.client import Client
from infrastructure.ids import new_id
from infrastructure.postgres.database import Database
from infrastructure.simulators.panel.simulator import PanelSimulator
from tests.application.installed import TOKEN
from tests.application.place import placed
from tests.fixtures.database import Servers, TestDatabase
from tests.fixtures.http import Api, api_over
from tests.fixtures.read_models import project
from tests.operators.deliveries.goods import Shop
from tests.operators.world import World
from tests.processor.rig import NOOP, Rig
from tests.projections.records.life import REFUSAL, Life

CANARY = "cc-canary-4000-1234"


class Day:
    """Jobs to each of which something else has happened."""

    def __init__(self, api: Api, database: TestDatabase, pool: Database) -> None:
        self.api = api
        self.pool = pool
        parts = Rig(database, pool, NOOP)
        client = Client(parts.connection)
        args = {"n": 1, "bank": CANARY}
        self.succeeded = client.enqueue("noop", args).job_id
        held = parts.claim(1)[0]
        parts.settle(held, Completed(result={"sent": True, "token": CANARY}))
        self.dead = client.enqueue("noop", args, queue="bulk").job_id
        parts.settle(parts.claim(1, "bulk")[0], Fail(code="no_such_user"))
        self.again = client.enqueue("noop", args, correlation_id="a-story").job_id
        parts.settle(parts.claim(1)[0], Retry(code="panel_5xx"))
        self.running = client.enqueue("noop", args).job_id
        parts.claim(1)
        self.waiting = client.enqueue("noop", args).job_id
        self.theirs = client.enqueue("noop", args, tenant="other").job_id
        database.advance(timedelta(minutes=1))
        project(pool)

    @property
    def ours(self) -> set[UUID]:
        return {self.succeeded, self.dead, self.again, self.running, self.waiting}


@pytest.fixture
def day(database: TestDatabase, tmp_path: Path) -> Generator[Day]:
    with (
        api_over(database, tmp_path) as api,
        Database(database.conninfo, pool_size=2) as pool,
    ):
        yield Day(api, database, pool)


class Seen:
    """Records of every kind, each of whose rows belongs to one of two tenants."""

    def __init__(self, life: Life, api: Api) -> None:
        self.life = life
        self.api = api

    def share(self, *halves: str) -> None:
        """Give every second stream to `other`, by what its id ends with."""
        with self.life.connection.transaction():
            self.life.connection.execute("SET LOCAL session_replication_role = replica")
            for table in TABLES:
                self.life.connection.execute(
                    sql.SQL(
                        "UPDATE counterfoil.{} SET tenant_id = CASE WHEN"
                        " right(stream_id::text, 1) = ANY(%s)"
                        " THEN 'other' ELSE 'default' END"
                    ).format(sql.Identifier(table)),
                    (list(halves),),
                )


TABLES = (
    "events",
    "deliveries",
    "jobs",
    "jobs_dead",
    "read_jobs_a",
    "read_operations_a",
    "read_deliveries_a",
    "read_orders_a",
    "read_entitlements_a",
    "read_dead_letters_a",
    "read_audit_a",
    "read_attempts_a",
)


@pytest.fixture(scope="session")
def seen(servers: Servers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seen]:
    """Access and goods, delivered, refused, and in review; tests only look."""
    server = servers.get("embedded")
    name = f"seen_{new_id().hex}"
    with ExitStack() as stack:
        database = TestDatabase(server.create(name, "template_migrated"))
        stack.callback(server.drop, name)
        stack.callback(database.close)
        folder = tmp_path_factory.mktemp("seen")
        panel = stack.enter_context(
            PanelSimulator(book=folder / "panel.db", token=TOKEN)
        )
        life = Life(stack.enter_context(placed(database, panel)))
        for customer in ("ann", "bob", "cid"):
            life.buy(customer)
        for customer in ("dan", "eve"):
            with life.while_(REFUSAL):
                life.buy(customer)
        life.of_goods()
        shop = Shop(World(life.place.parts.pool, life.connection))
        shop.review()
        shop.review()
        life.project()
        api = stack.enter_context(api_over(database, folder))
        yield Seen(life, api)
