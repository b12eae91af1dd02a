"""What is done to a system while it works."""

import time
from collections.abc import Mapping
from contextlib import closing
from typing import Final

from psycopg import sql

from bench.outages.producer import OWN_ROWS
from bench.outages.run import Passed, Scenario, Stage
from infrastructure.postgres.database import connect

_IDLER: Final = {"first": 1_000_000_000, "last": 1_000_000_000}
"""The job of the transaction that idles: far beyond the producer's."""
_FIRST_SECOND: Final = 1.0
_SAMPLE_SECONDS: Final = 0.25

_HOLD_SNAPSHOT: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ"
_TAKE_SNAPSHOT: Final = "SELECT count(*) FROM shop.orders"


def restart(stage: Stage) -> Passed:
    """Stop the server at once, start it again, and let it work for a while."""
    over_at = stage.server.restart()
    backlog: list[tuple[float, int]] = []
    with closing(connect(stage.conninfo, application_name="bench")) as observer:
        while (after := time.monotonic() - over_at) < stage.spans.after_restart:
            backlog.append((after, stage.subject.count_unfinished(observer)))
            stage.crew.watch(_SAMPLE_SECONDS)
    return Passed(over_at, backlog=backlog)


def kill(stage: Stage) -> Passed:
    """SIGKILL the busier worker; its supervisor starts another one in its place."""
    killed = stage.crew.kill_busiest()
    killed_at = time.monotonic()
    stage.crew.watch(stage.spans.after_kill)
    return Passed(killed_at + _FIRST_SECOND, event_at=killed_at, killed=killed)


def idle_enqueuer(stage: Stage) -> Passed:
    """Let a transaction that has enqueued do nothing for long, and then commit."""
    with closing(connect(stage.conninfo, application_name="idler")) as idler:
        idler.execute("BEGIN")
        idler.execute(OWN_ROWS, _IDLER)
        idler.execute(sql.SQL(stage.subject.enqueue), _IDLER)
        stage.crew.watch(stage.spans.idle)
        idler.execute("COMMIT")
    over_at = time.monotonic()
    stage.crew.watch(stage.spans.after_idle)
    return Passed(over_at, confirmed=(_IDLER["first"],))


def idle_snapshot(stage: Stage) -> Passed:
    """Let a transaction keep an old snapshot for long, and nothing else."""
    with closing(connect(stage.conninfo, application_name="idler")) as idler:
        idler.execute(_HOLD_SNAPSHOT)
        idler.execute(_TAKE_SNAPSHOT)
        stage.crew.watch(stage.spans.idle)
        idler.execute("COMMIT")
    over_at = time.monotonic()
    stage.crew.watch(stage.spans.after_idle)
    return Passed(over_at)


SCENARIOS: Final[Mapping[str, Scenario]] = {
    "restart": restart,
    "kill": kill,
    "idle enqueuer": idle_enqueuer,
    "idle snapshot": idle_snapshot,
}
