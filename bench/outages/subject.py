"""A queue that is put through an outage: how it is made, driven and counted."""

import subprocess
from dataclasses import dataclass
from typing import Final, LiteralString

import msgspec

from bench.child import ROOT, BenchError
from bench.outages.settings import AT_ONCE, HANDLER_SECONDS, RESCUE_SECONDS
from bench.peers.system import System
from infrastructure.postgres.database import Connection
from infrastructure.postgres.heads.table import number

_SETUP_SECONDS: Final = 60.0
_TOLD_CHARACTERS: Final = 1_000
_EQUAL: Final = {
    "atOnce": AT_ONCE,
    "handlerMs": round(HANDLER_SECONDS * 1e3),
    "rescueSeconds": round(RESCUE_SECONDS),
}
"""What workers in other languages are told by the environment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """One queue; each run gives it an empty database."""

    title: str
    system: System
    """Makes the tables, by the contract's word `setup`."""
    worker: tuple[str, ...]
    """Works as bench/outages/worker.py says."""
    enqueue: LiteralString
    """Enqueues jobs `%(first)s` to `%(last)s` in the producer's transaction."""
    unfinished: LiteralString
    """Counts, in its own tables, the jobs that are still work to be done."""
    settings: str
    """What it was told about leases and the like, in words."""

    def environment(self, conninfo: str) -> dict[str, str]:
        """Return what its processes need to know of the database."""
        equal = {"BENCH_OUTAGE": msgspec.json.encode(_EQUAL).decode()}
        return self.system.environment(conninfo) | equal

    def set_up(self, conninfo: str) -> None:
        """Make its tables.

        Raises:
            BenchError: its command failed.
        """
        done = subprocess.run(  # noqa: S603 - a driver of ours
            self.system.command("setup"),
            cwd=ROOT,
            env=self.environment(conninfo),
            capture_output=True,
            check=False,
            timeout=_SETUP_SECONDS,
        )
        if done.returncode:
            told = done.stderr.decode(errors="replace")[-_TOLD_CHARACTERS:]
            msg = f"{self.title} was not set up: {told}"
            raise BenchError(msg)

    def count_unfinished(self, connection: Connection) -> int:
        """Return how many jobs its tables hold as work to be done."""
        return number(connection.execute(self.unfinished).fetchall()[0][0])
