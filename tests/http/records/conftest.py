"""A day of two tenants, seen over HTTP."""

from collections.abc import Generator
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import pytest

from domain.jobs.outcome import Completed, Fail, Retry
from infrastructure.client import Client
from infrastructure.postgres.database import Database
from tests.fixtures.database import TestDatabase
from tests.fixtures.http import Api, api_over
from tests.fixtures.read_models import project
from tests.processor.rig import NOOP, Rig

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
