"""A queue as the bench sees it: how it is started, and where its ended jobs are."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, LiteralString

from psycopg.conninfo import conninfo_to_dict

from bench.child import ROOT

PYTHON: Final = ROOT / ".venv-bench" / "bin" / "python"
"""The interpreter of the peers' own environment: none of them is our dependency."""
NODE_FOLDER: Final = ROOT / "bench" / "peers" / "node"


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """One queue.  Each measure gives it a database of its own."""

    name: str
    program: tuple[str, ...]
    """What the contract's words are appended to."""
    needs: Path
    """A file that is there when it is installed."""
    ended: LiteralString
    """Counts, in its own tables, those of `%(jobs)s` enqueued jobs that ended well.

    May be slow: look when its workers have said that they handled everything.
    """
    made: LiteralString
    """Counts the jobs in its own tables, ended or not, before any worker came."""
    version_told_by: tuple[str, ...]
    """A command that prints the version of what is measured."""
    settings: str
    """The settings that were found to be its best, in words."""
    share: float = 1.0
    """How many jobs it drains, for each of the run's: as many as last some seconds."""
    tuned: Mapping[str, str] = field(default_factory=dict[str, str])
    """Settings that its driver reads from the environment."""
    without_transaction: str = ""
    """Why it cannot enqueue in a caller's transaction; empty if it can."""

    def command(self, *words: str) -> list[str]:
        """Return the command for the contract's `words` (see the package)."""
        return [*self.program, *words]

    @property
    def is_installed(self) -> bool:
        """Whether it can be run here."""
        return self.needs.exists()

    def environment(self, conninfo: str) -> dict[str, str]:
        """Return the environment of its processes: ours, with the database."""
        parts = {name: str(it) for name, it in conninfo_to_dict(conninfo).items()}
        host, port = parts.get("host", "localhost"), parts.get("port", "5432")
        user, name = parts.get("user", "postgres"), parts["dbname"]
        return {
            **os.environ,
            "PEER_URI": f"postgresql://{user}@/{name}?host={host}&port={port}",
            "PGHOST": host,
            "PGPORT": port,
            "PGUSER": user,
            "PGDATABASE": name,
            "COUNTERFOIL_DATABASE_URL": conninfo,
            **self.tuned,
        }
