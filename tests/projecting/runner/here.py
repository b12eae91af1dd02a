"""A projection runner in this process, as `worker_here` is a worker."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from infrastructure.postgres.database import Database
from infrastructure.processor.identity import this_process
from infrastructure.projecting.projector import Projector
from infrastructure.projecting.runner.runner import ProjectionRunner, RunnerOptions
from infrastructure.telemetry import listen
from tests.fixtures.database import TestDatabase
from tests.fixtures.workers import Events


@contextmanager
def runner_here(
    database: TestDatabase,
    **options: Any,  # noqa: ANN401 - passed on to those who check them
) -> Iterator[Events]:
    """Carry projections forward in this process; stopped politely at the end."""
    events = Events()
    chosen: dict[str, Any] = {"stand_seconds": 0.05} | options
    with (
        listen(events.add),
        Database(database.conninfo, pool_size=3, application_name="here") as pool,
    ):
        runner = ProjectionRunner(
            pool, Projector(pool), this_process(), RunnerOptions(**chosen)
        )
        runner.start()
        try:
            yield events
        finally:
            runner.stop()
