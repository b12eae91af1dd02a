"""DBOS Transact: a job is a workflow without steps in a durable queue."""

import asyncio
import os
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Final

import sqlalchemy
from dbos import DBOS, DBOSClient

from bench.peers.contract import CALL_SECONDS, PAY, Stop, Tally, drive

_POLL_SECONDS: Final = 0.05
_QUEUE: Final = "default"
_WORKFLOW: Final = {
    "workflow_name": "noop",
    "queue_name": _QUEUE,
    "app_version": "v1",
}


class _Dbos:
    def __init__(self) -> None:
        address = os.environ["PEER_URI"]
        self._uri = address.replace("postgresql://", "postgresql+psycopg://")
        self._client: DBOSClient
        self._engine: sqlalchemy.Engine

    async def setup(self) -> None:
        self._configure(Tally("noop"))
        await asyncio.to_thread(self._launch)
        await asyncio.to_thread(DBOS.destroy)

    def _configure(self, tally: Tally) -> None:
        DBOS(
            config={
                "name": "bench",
                "system_database_url": self._uri,
                "log_level": "ERROR",
                "application_version": "v1",
                "executor_id": f"worker-{os.getpid()}",
                "run_admin_server": False,
                "sys_db_pool_size": 20,
            }
        )

        @DBOS.workflow(name="noop")
        def noop(args: dict[str, int]) -> None:
            tally.begin(args["n"])
            if tally.calls:
                time.sleep(CALL_SECONDS)

    def _launch(self) -> None:
        DBOS.launch()
        DBOS.register_queue(_QUEUE, polling_interval_sec=_POLL_SECONDS)

    async def open(self) -> None:
        self._client = DBOSClient(system_database_url=self._uri)
        self._engine = sqlalchemy.create_engine(self._uri)

    async def enqueue(self, n: int) -> None:
        self._client.enqueue(_WORKFLOW, {"n": n})

    async def enqueue_many(self, numbers: list[int]) -> None:
        with self._engine.begin() as connection:
            for n in numbers:
                self._client.enqueue_in_transaction(connection, _WORKFLOW, {"n": n})

    async def pay(self, n: int | None) -> None:
        with self._engine.begin() as connection:
            connection.exec_driver_sql(PAY)
            if n is not None:
                self._client.enqueue_in_transaction(connection, _WORKFLOW, {"n": n})

    async def work(self, tally: Tally, ready: Callable[[], Awaitable[None]]) -> None:
        self._configure(tally)
        await ready()
        await asyncio.to_thread(self._launch)
        await Stop().wait()
        tally.tell_beginnings()
        os._exit(0)  # its threads do not end


if __name__ == "__main__":
    asyncio.run(drive(_Dbos(), sys.argv[1:]))
