"""A worker of ours that writes down every run: `python -m bench.outages.worker`.

It says `ready`, works from the line `go` on, and stops politely when its
standard input ends.  Each handler tells of itself: see bench/outages/telling.py.
"""

import os
import sys

import msgspec

from application.context import Context
from application.job_kinds import JobKind, by_name
from bench.outages.settings import (
    AT_ONCE,
    BEAT_SECONDS,
    LEASE_SECONDS,
    RESCUE_SECONDS,
)
from bench.outages.telling import handle, wait_for_go
from domain.jobs.outcome import Completed, Outcome
from infrastructure.bootstrap import WORKER_POOL
from infrastructure.postgres.database import Database
from infrastructure.postgres.migrator import require_current
from infrastructure.processor.worker import Worker, WorkerOptions
from infrastructure.telemetry import listen, show


class OutageArgs(msgspec.Struct, frozen=True):
    """The number of a job."""

    n: int


class ShortLease(JobKind[OutageArgs]):
    """A kind whose lease is shorter than the product would take it for.

    Nothing is called, so no call can outlast it, and a run need not wait for long.
    """

    def __post_init__(self) -> None:
        """Take every lease."""


def _handle(args: OutageArgs, _ctx: Context) -> Outcome:
    handle(args.n)
    return Completed()


def main() -> None:
    """Run one worker."""
    conninfo = os.environ["COUNTERFOIL_DATABASE_URL"]
    require_current(conninfo)
    kind = ShortLease(
        name="noop",
        args=OutageArgs,
        handler=_handle,
        lease_seconds=LEASE_SECONDS,
        call_seconds=1,
    )
    options = WorkerOptions(
        queues={"default": AT_ONCE},
        heartbeat_seconds=BEAT_SECONDS,
        rescue_seconds=RESCUE_SECONDS,
        listen_url=conninfo,
    )
    with listen(show), Database(conninfo, pool_size=WORKER_POOL) as database:
        worker = Worker(database, by_name(kind), options)
        wait_for_go()
        worker.start()
        sys.stdin.read()
        worker.stop()


if __name__ == "__main__":
    main()
