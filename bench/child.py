"""The worker process as the bench sees it."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Final, Self

from infrastructure.errors import InfrastructureError

ROOT: Final = Path(__file__).resolve().parents[1]
_STOP_SECONDS: Final = 60.0


class BenchError(InfrastructureError):
    """Something that the bench relies on did not happen; its figures would be wrong."""

    code = "bench_failed"


class WorkerProcess:
    """One `bench.worker`; it never outlives the block it is used in."""

    def __init__(
        self, conninfo: str, folder: Path, *queues: str, listens: bool = True
    ) -> None:
        """Start it; it works once `go` was called, and listens as the product does."""
        settings = {"COUNTERFOIL_DATABASE_URL": conninfo}
        if listens:
            settings["COUNTERFOIL_LISTEN_URL"] = conninfo
        self._log = folder / "worker.log"
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter
                [sys.executable, "-m", "bench.worker", *queues],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                cwd=ROOT,
                env=os.environ | settings,
            )

    @property
    def pid(self) -> int:
        """The process's id."""
        return self._process.pid

    def __enter__(self) -> Self:
        """Return itself when the process is ready to work.

        Raises:
            BenchError: it ended instead.
        """
        if self._process.stdout is None or self._process.stdout.readline() != "ready\n":
            self.__exit__()
            msg = f"the worker did not start; see {self._log}"
            raise BenchError(msg)
        return self

    def __exit__(self, *_: object) -> None:
        """Kill what was not stopped."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.communicate()

    def go(self) -> None:
        """Let it work from now on."""
        if self._process.stdin is not None:
            self._process.stdin.write("go\n")
            self._process.stdin.flush()

    def stop(self) -> dict[int, int]:
        """Return when each handler began, in nanoseconds by the job's number.

        Raises:
            BenchError: it did not stop politely.
        """
        told, _ = self._process.communicate(timeout=_STOP_SECONDS)
        if self._process.returncode != 0:
            msg = f"the worker ended with {self._process.returncode}; see {self._log}"
            raise BenchError(msg)
        pairs = (line.split() for line in told.splitlines())
        return {int(n): int(at) for n, at in pairs}
