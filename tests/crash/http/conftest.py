"""People and programs who ask an API process for things, and workers that do them."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import psycopg
import pytest

from api.http.surface import Surface
from infrastructure.access.passwords import Argon2Passwords
from infrastructure.access.wiring import access_over
from infrastructure.postgres.batch_store import BatchStore
from infrastructure.postgres.database import Database
from infrastructure.settings import Settings
from tests.crash.http.witness import Witnesses
from tests.crash.intake.process import ApiProcess
from tests.fixtures.database import TestDatabase
from tests.fixtures.http import QUICK, Doors
from tests.fixtures.workers import Gate, Start, WorkerProcess

SURFACES = (Surface.SHOPS, Surface.ADMIN, Surface.PANEL)
TERMINAL = {"job.succeeded", "job.discarded", "job.cancelled"}

type Connection = psycopg.Connection[Any]


@dataclass
class Desk:
    """Everybody who may cancel, at one API process."""

    database: TestDatabase
    connection: Connection
    process: ApiProcess
    doors: Doors
    witnesses: Witnesses
    start: Start
    clients: dict[Surface, httpx.Client] = field(
        default_factory=dict[Surface, httpx.Client]
    )
    _keys: Iterator[int] = field(default_factory=count)

    def at(self, surface: Surface) -> httpx.Client:
        """Return whoever asks at that surface."""
        if surface not in self.clients:
            self.clients[surface] = self.doors.client(surface)
        return self.clients[surface]

    def ask_elsewhere(self) -> None:
        """Ask another process from now on, with the credentials of before."""
        folder = self.witnesses.folder.parent
        self.process = ApiProcess(self.database.conninfo, folder)
        self.doors.stack.callback(self.process.kill)
        self.doors.address = self.process.address
        self.clients.clear()

    def worker(self, conninfo: str | None = None, **options: Any) -> WorkerProcess:  # noqa: ANN401 - the process checks them
        """Return a worker process whose handlers write down what they do."""
        witnesses = str(self.witnesses.folder)
        return self.start(conninfo, witnesses=witnesses, **options)

    def enqueue(self, kind: str = "witnessed", **more: object) -> UUID:
        """Return a new job, asked for over HTTP."""
        answer = self.at(Surface.SHOPS).post("/jobs", json={"kind": kind} | more)
        assert answer.status_code == 202, answer.text
        return UUID(answer.json()["id"].removeprefix("job_"))

    def act(
        self,
        verb: str,
        job: UUID,
        surface: Surface = Surface.ADMIN,
        key: str | None = None,
    ) -> httpx.Response:
        """Return what is answered to a cancel or a retry, under a key of its own."""
        name = key or f"{verb}-{next(self._keys):08}"
        path, headers = f"/jobs/job_{job}/{verb}", {"Idempotency-Key": name}
        return self.at(surface).post(path, headers=headers)

    def cancel(
        self, job: UUID, surface: Surface = Surface.ADMIN, key: str | None = None
    ) -> httpx.Response:
        """See `act`."""
        return self.act("cancel", job, surface, key)

    def retry(self, job: UUID, surface: Surface = Surface.ADMIN) -> httpx.Response:
        """See `act`."""
        return self.act("retry", job, surface)

    def tags(self, job: UUID) -> list[str]:
        """Return what the log says of a job, in order."""
        rows = self.connection.execute(
            "SELECT type FROM counterfoil.events WHERE stream_id = %s ORDER BY version",
            (job,),
        )
        return [row[0].removeprefix("job.") for row in rows]

    def is_parked(self, job: UUID) -> bool:
        """Return whether a job is parked now."""
        return self.tags(job)[-1] == "parked"

    def ends(self, job: UUID) -> list[str]:
        """Return the terminal states that a job has come to, in order."""
        return [tag for tag in self.tags(job) if f"job.{tag}" in TERMINAL]

    def records(self, job: UUID, action: str = "job.cancelled") -> int:
        """Return how often the audit has an action on a job."""
        rows = self.connection.execute(
            """
            SELECT count(*)
              FROM counterfoil.events
             WHERE type = 'operator.action_taken'
               AND data->>'action' = %s
               AND data->>'target' = %s
            """,
            (action, str(job)),
        )
        ((n,),) = rows.fetchall()
        return int(n)


def said(answer: httpx.Response) -> tuple[int, Any]:
    """Return the status, and what was written or why nothing was."""
    told: dict[str, Any] = json.loads(answer.content)
    return answer.status_code, told.get("code", told.get("events"))


@pytest.fixture
def api_conninfo(database: TestDatabase) -> str:
    """Return how the API process reaches the database."""
    return database.conninfo


@pytest.fixture
def desk(
    database: TestDatabase,
    api_conninfo: str,
    start_worker: Start,
    gate: Gate,
    tmp_path: Path,
) -> Iterator[Desk]:
    """A desk at an API process of its own; `gate` is where handlers wait."""
    assert gate.port
    with (
        ExitStack() as stack,
        Database(database.conninfo, pool_size=2) as pool,
    ):
        process = ApiProcess(api_conninfo, tmp_path)
        stack.callback(process.kill)
        access = access_over(pool, BatchStore(pool), Settings(), Argon2Passwords(QUICK))
        doors = Doors(process.address, access, stack)
        witnesses = Witnesses(tmp_path / "witnesses")
        connection = database.connect()
        yield Desk(database, connection, process, doors, witnesses, start_worker)
