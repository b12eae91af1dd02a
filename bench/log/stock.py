"""The event-sourcing library as it is shipped: its recorder, and jobs in its style."""

from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID

from eventsourcing.application import Application
from eventsourcing.domain import Aggregate, event
from eventsourcing.persistence import StoredEvent
from eventsourcing.postgres import PostgresApplicationRecorder, PostgresDatastore
from psycopg.conninfo import conninfo_to_dict

from bench.log.rows import META, REMARK_DATA
from infrastructure.ids import new_id

TABLE: Final = "stored_events"

_STATE: Final = b'{"data":' + REMARK_DATA + b',"meta":' + META + b"}"
_TOPIC: Final = "bench.log:Remarked"


def datastore(conninfo: str) -> PostgresDatastore:
    """Return the library's connections: one, which it keeps."""
    parts: dict[str, Any] = conninfo_to_dict(conninfo)
    return PostgresDatastore(
        dbname=parts["dbname"],
        host=parts["host"],
        port=parts["port"],
        user=parts["user"],
        password="",
        pool_size=1,
        max_overflow=0,
    )


def recorder(conninfo: str) -> PostgresApplicationRecorder:
    """Return the stock recorder, its table made if it is not there."""
    made = PostgresApplicationRecorder(datastore(conninfo), events_table_name=TABLE)
    made.create_table()
    return made


def stored_events(n: int) -> list[StoredEvent]:
    """Return births of `n` streams, encoded already; ids in order, as ours are."""
    return [StoredEvent(new_id(), 1, _TOPIC, _STATE) for _ in range(n)]


class StockJob(Aggregate):
    """A job as the library's manual would have it."""

    def __init__(self, kind: str, args: dict[str, object]) -> None:
        """Enqueue it."""
        self.kind = kind
        self.args = args
        self.state = "waiting"
        self.token = 0

    @event("Claimed")
    def claim(self, owner: str) -> None:
        """Begin an attempt."""
        self.state = "running"
        self.owner = owner
        self.token = self.version

    @event("Succeeded")
    def succeed(self, token: int) -> None:
        """End it."""
        self.state = "succeeded"
        self.ended_by = token


class StockJobs(Application[UUID]):
    """Jobs saved by the library, as many in one transaction as are given."""

    def enqueue(self, n: int) -> list[UUID]:
        """Return `n` new jobs."""
        jobs = [StockJob(kind="noop", args={"n": each}) for each in range(n)]
        self.save(*jobs)
        return [job.id for job in jobs]

    def claim(self, ids: Sequence[UUID]) -> None:
        """Begin an attempt of each."""
        jobs: list[StockJob] = [self.repository.get(id_) for id_ in ids]
        for job in jobs:
            job.claim(owner="host:1")
        self.save(*jobs)

    def succeed(self, ids: Sequence[UUID]) -> None:
        """End each."""
        jobs: list[StockJob] = [self.repository.get(id_) for id_ in ids]
        for job in jobs:
            job.succeed(token=job.token)
        self.save(*jobs)


def jobs_of(conninfo: str) -> StockJobs:
    """Return the library's application over a database of its own."""
    parts: dict[str, Any] = conninfo_to_dict(conninfo)
    return StockJobs(
        env={
            "PERSISTENCE_MODULE": "eventsourcing.postgres",
            "POSTGRES_DBNAME": parts["dbname"],
            "POSTGRES_HOST": parts["host"],
            "POSTGRES_PORT": str(parts["port"]),
            "POSTGRES_USER": parts["user"],
            "POSTGRES_PASSWORD": "",
        }
    )
