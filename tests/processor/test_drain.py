"""A worker in this process drains jobs of a user's own kind."""

import threading

import msgspec

from application.context import Context
from application.job_kinds import JobKind, by_name
from domain.jobs.outcome import Completed, Outcome
from infrastructure.postgres.database import Database
from infrastructure.processor.worker import Worker, WorkerOptions


class Args(msgspec.Struct, frozen=True):
    n: int = 0


def test_jobs_are_claimed_run_and_succeeded(database) -> None:
    done = threading.Semaphore(0)

    def handle(_args: Args, _ctx: Context) -> Outcome:
        done.release()
        return Completed()

    kinds = by_name(JobKind(name="noop", args=Args, handler=handle))
    connection = database.connect()
    for n in range(1000):
        connection.execute(
            "SELECT counterfoil.enqueue(jsonb_build_object('kind', 'noop', 'args', jsonb_build_object('n', %s::int)))",
            (n,),
        )
    with Database(database.conninfo, pool_size=8) as db:
        worker = Worker(db, kinds, WorkerOptions(queues={"critical": 2, "default": 8, "bulk": 2}))
        import time; t=time.time()
        worker.start()
        for _ in range(1000):
            assert done.acquire(timeout=10)
        print(time.time()-t)
        worker.stop()
    assert connection.execute("SELECT count(*) FROM counterfoil.jobs").fetchone() == (0,)
    print(connection.execute("SELECT type, count(*), min(data::text), min(meta::text) FROM counterfoil.events group by 1").fetchall())
