"""The queues that are put through outages, and what each was told.

Leases, heartbeats and rescues are equal wherever a system lets them be chosen; where
it does not, it keeps what it has, and the words say so.
"""

import sys
from typing import Final

from bench.child import ROOT
from bench.outages.settings import (
    AT_ONCE,
    BEAT_SECONDS,
    LEASE_SECONDS,
    RESCUE_SECONDS,
    SUPERVISOR_SECONDS,
)
from bench.outages.subject import Subject
from bench.peers import systems
from bench.peers.system import PYTHON

_DRIVERS: Final = "bench.outages.drivers"
_SCRIPT: Final = str(ROOT / "bench" / "outages" / "drivers" / "worker.js")
_EQUAL: Final = f"{AT_ONCE} handlers at once"


COUNTERFOIL: Final = Subject(
    title="Counterfoil",
    system=systems.COUNTERFOIL,
    worker=(sys.executable, "-m", "bench.outages.worker"),
    enqueue="""
    SELECT count(counterfoil.enqueue(jsonb_build_object(
               'kind', 'noop', 'args', jsonb_build_object('n', n))))
      FROM generate_series(%(first)s::int, %(last)s::int) AS n
    """,
    unfinished="SELECT count(*) FROM counterfoil.jobs",
    settings=f"{_EQUAL}, lease {LEASE_SECONDS} s (60 by default, the product takes 25"
    f" at least), heartbeat {BEAT_SECONDS:g} s (15), rescue {RESCUE_SECONDS:g} s (5),"
    " listening",
)
PGQUEUER: Final = Subject(
    title="PgQueuer",
    system=systems.PGQUEUER,
    worker=(str(PYTHON), "-m", f"{_DRIVERS}.pgqueuer_worker"),
    enqueue="""
    INSERT INTO pgqueuer (priority, entrypoint, payload, execute_after, status)
    SELECT 0, 'noop', convert_to(json_build_object('n', n)::text, 'UTF8'),
           now(), 'queued'
      FROM generate_series(%(first)s::int, %(last)s::int) AS n
    """,
    unfinished="SELECT count(*) FROM pgqueuer WHERE status IN ('queued', 'picked')",
    settings=f"20 jobs at once, batch 10, heartbeat timeout {LEASE_SECONDS} s (30),"
    f" its supervisor restarts it after {SUPERVISOR_SECONDS:g} s (5)",
)
PROCRASTINATE: Final = Subject(
    title="Procrastinate",
    system=systems.PROCRASTINATE,
    worker=(str(PYTHON), "-m", f"{_DRIVERS}.procrastinate_worker"),
    enqueue="""
    SELECT procrastinate_defer_jobs_v1(array_agg(
               ROW('default', 'noop', 0, NULL, NULL, jsonb_build_object('n', n), NULL)
               ::procrastinate_job_to_defer_v1))
      FROM generate_series(%(first)s::int, %(last)s::int) AS n
    """,
    unfinished="""
    SELECT count(*) FROM procrastinate_jobs
     WHERE status IN ('todo', 'doing') AND task_name = 'noop'
    """,
    settings=f"{_EQUAL}, heartbeat {BEAT_SECONDS:g} s (10), stalled after"
    f" {LEASE_SECONDS} s (30), retried by the manual's periodic task every second",
)
DBOS: Final = Subject(
    title="DBOS",
    system=systems.DBOS,
    worker=(str(PYTHON), "-m", f"{_DRIVERS}.dbos_worker"),
    enqueue="""
    SELECT count(dbos.enqueue_workflow(
               workflow_name => 'noop', queue_name => 'default', app_version => 'v1',
               positional_args => ARRAY[to_json(n)]))
      FROM generate_series(%(first)s::int, %(last)s::int) AS n
    """,
    unfinished="""
    SELECT count(*) FROM dbos.workflow_status
     WHERE status IN ('ENQUEUED', 'PENDING') AND name = 'noop'
    """,
    settings=f"{_EQUAL}, queue polled every 50 ms, no lease: an executor that starts"
    " again recovers what had its name (without Conductor)",
)
AWA: Final = Subject(
    title="awa",
    system=systems.AWA,
    worker=(str(PYTHON), "-m", f"{_DRIVERS}.awa_worker"),
    enqueue="""
    SELECT count(awa.insert_job_compat(
               p_kind => 'noop', p_queue => 'default',
               p_args => jsonb_build_object('n', n)))
      FROM generate_series(%(first)s::int, %(last)s::int) AS n
    """,
    unfinished="""
    SELECT count(*) FROM awa.jobs
     WHERE state IN ('available', 'running', 'scheduled', 'retryable')
    """,
    settings=f"{_EQUAL}, heartbeat {BEAT_SECONDS:g} s, stale after {LEASE_SECONDS} s,"
    f" rescue and election every {RESCUE_SECONDS:g} s, poll 50 ms",
)
GRAPHILE_WORKER: Final = Subject(
    title="graphile-worker",
    system=systems.GRAPHILE_WORKER,
    worker=("node", _SCRIPT, "graphile-worker"),
    enqueue="""
    SELECT count(graphile_worker.add_job('noop', json_build_object('n', n)))
      FROM generate_series(%(first)s::int, %(last)s::int) AS n
    """,
    unfinished="""
    SELECT count(*) FROM graphile_worker._private_jobs WHERE attempts < max_attempts
    """,
    settings=f"{_EQUAL}, no local queue; a job stays locked for four hours, which"
    " cannot be set",
)
PG_BOSS: Final = Subject(
    title="pg-boss",
    system=systems.PG_BOSS,
    worker=("node", _SCRIPT, "pg-boss"),
    enqueue="""
    INSERT INTO pgboss.job (name, data, expire_in)
    SELECT 'noop', jsonb_build_object('n', n), interval '5 seconds'
      FROM generate_series(%(first)s::int, %(last)s::int) AS n
    """,
    unfinished="""
    SELECT count(*) FROM pgboss.job
     WHERE name = 'noop' AND state IN ('created', 'retry', 'active')
    """,
    settings="4 workers with batches of 100, polled every 0.5 s, expiry"
    f" {LEASE_SECONDS} s (15 min), maintenance every {RESCUE_SECONDS:g} s (120)",
)

SUBJECTS: Final = (
    COUNTERFOIL, PGQUEUER, PROCRASTINATE, DBOS, AWA, GRAPHILE_WORKER, PG_BOSS,
)  # fmt: skip
"""Ours first."""
