"""A real worker process with kinds of the bench: `python -m bench.worker QUEUES LIMIT`.

It listens for notices at COUNTERFOIL_LISTEN_URL, if that is set, and else only polls.
It says `ready`, works from the line `go` on, and stops politely when its standard
input ends.  Then it says when each handler began: the job's number and the machine's
monotonic clock in nanoseconds.  As in the product, heartbeats and rescue run, and
every event of its telemetry is a line on standard error.
"""

import os
import sys
import time
from contextlib import ExitStack
from typing import Final

import msgspec

from application.context import Context
from application.job_kinds import JobKind, by_name
from domain.jobs.outcome import Completed, Outcome
from infrastructure.bootstrap import WORKER_POOL
from infrastructure.postgres.database import Database
from infrastructure.postgres.migrator import require_current
from infrastructure.processor.worker import Worker, WorkerOptions
from infrastructure.telemetry import listen, show

_DEFAULT_QUEUES: Final = {"critical": 16, "default": 8, "bulk": 4}

_began: list[tuple[int, int]] = []


class NoopArgs(msgspec.Struct, frozen=True):
    """The number of a job."""

    n: int


def _noop(args: NoopArgs, _ctx: Context) -> Outcome:
    _began.append((args.n, time.monotonic_ns()))
    return Completed()


def main(queues: list[str]) -> None:
    """Run one worker for the product's queues, or one for each of `queues`."""
    conninfo = os.environ["COUNTERFOIL_DATABASE_URL"]
    listen_url = os.environ.get("COUNTERFOIL_LISTEN_URL")
    require_current(conninfo)
    kinds = by_name(JobKind(name="noop", args=NoopArgs, handler=_noop))
    limits = [{name: 1} for name in queues] or [_DEFAULT_QUEUES]
    with ExitStack() as stack:
        stack.enter_context(listen(show))
        database = stack.enter_context(Database(conninfo, pool_size=WORKER_POOL))
        options = [WorkerOptions(queues=it, listen_url=listen_url) for it in limits]
        workers = [Worker(database, kinds, each) for each in options]
        print("ready", flush=True)
        if sys.stdin.readline().strip() == "go":
            for worker in workers:
                worker.start()
            sys.stdin.read()
            for worker in workers:
                worker.stop()
    for n, at in _began:
        print(n, at)


if __name__ == "__main__":
    main(sys.argv[1:])
