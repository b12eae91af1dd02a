"""Awa: a runtime in Rust that calls handlers in Python."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

import awa

from bench.peers.contract import CALL_SECONDS, PAY, Stop, Tally, drive

_WORKERS: Final = 1_024
_CLAIM_BATCH: Final = 512
_POLL_MILLISECONDS: Final = 50
_SWITCH_SECONDS: Final = 2.0


@dataclass
class Noop:
    """The arguments; the kind `noop` is derived from the name."""

    n: int


class _Awa:
    def __init__(self) -> None:
        # Its driver refuses an empty host, and then takes the socket after all.
        self._uri = os.environ["PEER_URI"].replace("@/", "@localhost/")
        self._client = awa.AsyncClient(self._uri, max_connections=20)

    async def setup(self) -> None:
        await awa.migrate(self._uri)
        # The first worker of a fresh installation switches it to queue storage.
        self._handle(Tally("noop"))
        await self._client.start([{"name": "default", "max_workers": 4}])
        await asyncio.sleep(_SWITCH_SECONDS)
        await self._client.shutdown()

    def _handle(self, tally: Tally) -> None:
        @self._client.task(Noop, queue="default")
        async def noop(job: awa.Job) -> None:
            tally.begin(job.args.n)
            if tally.calls:
                await asyncio.sleep(CALL_SECONDS)

    async def open(self) -> None:
        """Connections are made by the first call."""

    async def enqueue(self, n: int) -> None:
        await self._client.insert(Noop(n))

    async def enqueue_many(self, numbers: list[int]) -> None:
        await self._client.enqueue_many_copy([Noop(n) for n in numbers])

    async def pay(self, n: int | None) -> None:
        async with await self._client.transaction() as transaction:
            await transaction.execute(PAY)
            if n is not None:
                await transaction.insert(Noop(n))

    async def work(self, tally: Tally, ready: Callable[[], Awaitable[None]]) -> None:
        self._handle(tally)
        await ready()
        await self._client.start(
            [
                {
                    "name": "default",
                    "max_workers": _WORKERS,
                    "claim_batch_size": _CLAIM_BATCH,
                }
            ],
            poll_interval_ms=_POLL_MILLISECONDS,
        )
        await Stop().wait()
        await self._client.shutdown()


if __name__ == "__main__":
    asyncio.run(drive(_Awa(), sys.argv[1:]))
