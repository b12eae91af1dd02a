"""The API as a process of its own, which is killed, and a shop that asks it."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from application.access.tokens import Wanted
from application.operators.instruction import instruct
from domain.access.audience import Audience
from domain.access.permissions import Permission
from infrastructure.access.wiring import access_over
from infrastructure.postgres.batch_store import BatchStore
from infrastructure.postgres.database import Database
from infrastructure.settings import Settings
from tests.fixtures.processes import ROOT, start

KEY = "key-0000-0001"
SCOPES = (
    Permission.JOBS_READ,
    Permission.JOBS_WRITE,
    Permission.ORDERS_READ,
    Permission.ORDERS_WRITE,
    Permission.OPERATIONS_WRITE,
)


class ApiProcess:
    """One process that answers HTTP, and nothing else."""

    def __init__(self, conninfo: str, folder: Path) -> None:
        environment = {
            "COUNTERFOIL_DATABASE_URL": conninfo,
            "COUNTERFOIL_DATA_DIR": str(folder),
            "COUNTERFOIL_HTTP_ADDR": "127.0.0.1:0",
            "COUNTERFOIL_RATE_LIMIT_BURST": "100000",
            "COUNTERFOIL_RATE_LIMIT_HOUR": "100000",
            "PYTHONPATH": str(ROOT),
        }
        kept = {k: v for k, v in os.environ.items() if not k.startswith("COUNTERFOIL_")}
        self._process = start(
            "api", ["api", "--json"], environment=kept | environment, stderr=None
        )
        assert self._process.stdout is not None
        told = self._process.stdout.readline()
        assert told, "the API has not started"
        self.address = str(json.loads(told)["api"])

    def kill(self) -> None:
        """End it at once, and return when it is gone."""
        self._process.kill()
        self._process.wait(30)
        if self._process.stdout is not None:
            self._process.stdout.close()


@contextmanager
def api_process(conninfo: str, folder: Path) -> Iterator[ApiProcess]:
    """Give a process, killed in the end."""
    process = ApiProcess(conninfo, folder)
    try:
        yield process
    finally:
        process.kill()


def token(conninfo: str, surface: Audience = Audience.SHOP) -> str:
    """Return a new token that may do what these tests do."""
    with Database(conninfo, pool_size=2) as pool:
        access = access_over(pool, BatchStore(pool), Settings())
        scopes = SCOPES[:4] if surface is Audience.SHOP else SCOPES
        wanted = Wanted(
            tenant_id="default", name=surface.value, surface=surface, scopes=scopes
        )
        return access.tokens.create(wanted, instruct("ada", "the test wants it")).text


def shop(process: ApiProcess, secret: str, key: str | None = KEY) -> httpx.Client:
    """Return a client of the process, whose requests have that key."""
    headers = {"Authorization": f"Bearer {secret}", "X-Operator-Reason": "why"}
    if key is not None:
        headers["Idempotency-Key"] = key
    return httpx.Client(base_url=process.address, headers=headers, timeout=30)
