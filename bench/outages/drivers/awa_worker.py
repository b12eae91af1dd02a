"""Awa: heartbeats, and a leader that rescues jobs whose heartbeat is stale."""

import asyncio
import os
from dataclasses import dataclass

import awa

from bench.outages.settings import (
    AT_ONCE,
    BEAT_SECONDS,
    LEASE_SECONDS,
    RESCUE_SECONDS,
)
from bench.outages.telling import end_of_input, handle_async, wait_for_go


@dataclass
class Noop:
    """The arguments; the kind `noop` is derived from the name."""

    n: int


async def _main() -> None:
    # Its driver refuses an empty host, and then takes the socket after all.
    uri = os.environ["PEER_URI"].replace("@/", "@localhost/")
    client = awa.AsyncClient(uri, max_connections=20)

    @client.task(Noop, queue="default")
    async def noop(job: awa.Job) -> None:
        await handle_async(job.args.n)

    wait_for_go()
    await client.start(
        [{"name": "default", "max_workers": AT_ONCE}],
        poll_interval_ms=50,
        heartbeat_interval_ms=round(BEAT_SECONDS * 1e3),
        heartbeat_staleness_ms=LEASE_SECONDS * 1_000,
        heartbeat_rescue_interval_ms=round(RESCUE_SECONDS * 1e3),
        leader_election_interval_ms=round(RESCUE_SECONDS * 1e3),
    )
    await end_of_input()
    await client.shutdown()


if __name__ == "__main__":
    asyncio.run(_main())
