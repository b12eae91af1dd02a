"""A process that carries projections forward, told everything on its command line.

    python -m tests.crash.projections.process CONNINFO '{"name": "a", "batch": 20}'

Its telemetry goes to standard output, one JSON object a line.  The database knows it
by its name.  SIGTERM stops it politely, with exit code 0.
"""

import json
import os
import signal
import sys
import threading

from infrastructure.postgres.database import Database
from infrastructure.processor.identity import this_process
from infrastructure.projecting.projector import Projector
from infrastructure.projecting.runner.runner import ProjectionRunner, RunnerOptions
from infrastructure.telemetry import listen
from tests.crash.worker_process import tell


def main() -> None:
    conninfo, options = sys.argv[1], json.loads(sys.argv[2])
    name = options.pop("name")
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    with (
        listen(tell),
        Database(conninfo, pool_size=3, application_name=name) as database,
    ):
        runner = ProjectionRunner(
            database, Projector(database), this_process(), RunnerOptions(**options)
        )
        runner.start()
        tell("ready", {"pid": os.getpid()})
        stop.wait()
        runner.stop()


if __name__ == "__main__":
    main()
