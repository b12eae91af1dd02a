"""The queues that are compared, each at the settings that were found to be its best."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Final

from bench.peers.system import NODE_FOLDER, PYTHON, System

_VERSION: Final = "import importlib.metadata as m, sys; print(m.version(sys.argv[1]))"


POLLS: Final = "PEER_POLLS"
"""In the environment of ours, when its worker does not listen."""


def _python(module: str) -> tuple[str, ...]:
    return (str(PYTHON), "-m", f"bench.peers.drivers.{module}")


def _python_version(distribution: str) -> tuple[str, ...]:
    return (str(PYTHON), "-c", _VERSION, distribution)


def _node(name: str) -> tuple[str, ...]:
    return ("node", str(NODE_FOLDER / "driver.js"), name)


def _node_package(name: str) -> Path:
    return NODE_FOLDER / "node_modules" / name / "package.json"


def _node_version(name: str) -> tuple[str, ...]:
    told = f"console.log(require({str(_node_package(name))!r}).version)"
    return ("node", "-e", told)


COUNTERFOIL: Final = System(
    name="counterfoil",
    program=(sys.executable, "-m", "bench.peers.drivers.counterfoil"),
    needs=Path(sys.executable),
    ended="SELECT count(*) FROM counterfoil.events WHERE type = 'job.succeeded'",
    made="SELECT count(*) FROM counterfoil.jobs",
    share=2.0,
    version_told_by=(sys.executable, "-c", _VERSION, "counterfoil"),
    settings="public front door; a worker process with heartbeats, rescue and LISTEN;"
    " queue limit 8, with a provider's call 256",
)
COUNTERFOIL_POLLING: Final = replace(
    COUNTERFOIL,
    name="counterfoil without LISTEN",
    settings="the same, with polling alone",
    tuned={POLLS: "1"},
)
"""For pick-up: it works in the databases of the other one."""
PGQUEUER: Final = System(
    name="pgqueuer",
    program=_python("pgqueuer_driver"),
    needs=PYTHON,
    ended="SELECT count(*) FROM pgqueuer_log WHERE status = 'successful'",
    made="SELECT count(*) FROM pgqueuer",
    version_told_by=_python_version("pgqueuer"),
    settings="asyncpg and uvloop, batch of 1,000, no aggregation of its log,"
    " no limit of concurrency",
)
PROCRASTINATE: Final = System(
    name="procrastinate",
    program=_python("procrastinate_driver"),
    needs=PYTHON,
    ended="SELECT count(*) FROM procrastinate_jobs WHERE status = 'succeeded'",
    made="SELECT count(*) FROM procrastinate_jobs",
    share=0.05,
    version_told_by=_python_version("procrastinate"),
    settings="psycopg pool, concurrency 50, LISTEN, finished jobs kept",
)
DBOS: Final = System(
    name="dbos",
    program=_python("dbos_driver"),
    needs=PYTHON,
    ended="SELECT count(*) FROM dbos.workflow_status WHERE status = 'SUCCESS'",
    made="SELECT count(*) FROM dbos.workflow_status",
    share=0.1,
    version_told_by=_python_version("dbos"),
    settings="one queue polled every 50 ms, system database pool of 20",
)
AWA: Final = System(
    name="awa",
    program=_python("awa_driver"),
    needs=PYTHON,
    ended="SELECT count(*) FROM awa.jobs WHERE state = 'completed'",
    made="SELECT count(*) FROM awa.jobs",
    share=0.5,
    version_told_by=_python_version("awa-pg"),
    settings="1,024 workers, claims and completions in batches of 512",
    tuned={"AWA_COMPLETION_BATCH_SIZE": "512"},
)
GRAPHILE_WORKER: Final = System(
    name="graphile-worker",
    program=_node("graphile-worker"),
    needs=_node_package("graphile-worker"),
    # It deletes what succeeded and keeps what failed.
    ended="SELECT %(jobs)s - count(*) FROM graphile_worker._private_jobs",
    made="SELECT count(*) FROM graphile_worker._private_jobs",
    share=2.0,
    version_told_by=_node_version("graphile-worker"),
    settings="24 concurrent jobs (400 with a provider's call), local queue of 500,"
    " batched completion; for pick-up neither queue nor batches",
)
PG_BOSS: Final = System(
    name="pg-boss",
    program=_node("pg-boss"),
    needs=_node_package("pg-boss"),
    ended="SELECT count(*) FROM pgboss.job WHERE state = 'completed'",
    made="SELECT count(*) FROM pgboss.job",
    share=2.0,
    version_told_by=_node_version("pg-boss"),
    settings="4 workers of one process, batch of 2,500, polled every 0.5 s"
    " (the least that it allows), all jobs of a batch at once",
)

SYSTEMS: Final = (
    COUNTERFOIL, PGQUEUER, PROCRASTINATE, DBOS, AWA, GRAPHILE_WORKER, PG_BOSS,
)  # fmt: skip
"""Ours first."""
