"""A server that may be stopped at once, under nobody else's feet."""

import signal
import time
from collections.abc import Generator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Final

from psycopg import sql
from psycopg.conninfo import make_conninfo

from bench.child import BenchError
from infrastructure import embedded
from infrastructure.embedded import lifecycle
from infrastructure.embedded.place import Place, lasting_place
from infrastructure.postgres.database import connect

_DURABLE: Final = {"fsync": "on", "full_page_writes": "on", "synchronous_commit": "on"}


@dataclass(frozen=True, slots=True)
class Server:
    """A running server of the outages alone, with default durability."""

    uri: str
    folder: Path
    _place: Place
    _numbers: "count[int]"

    @contextmanager
    def database(self) -> Generator[str]:
        """Give the address of an empty database; it is dropped afterwards."""
        name = f"outage_{next(self._numbers)}"
        self._command(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        self._command(sql.SQL("CHECKPOINT"))
        try:
            yield make_conninfo(self.uri, dbname=name)
        finally:
            self._command(
                sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name))
            )

    def restart(self) -> float:
        """Stop at once, as after a crash, and start; return when it answers again.

        Raises:
            BenchError: it did not stop, or came back under another address.
        """
        if not lifecycle.stop(self._place, signal.SIGQUIT):
            msg = "the server did not stop"
            raise BenchError(msg)
        if lifecycle.start(self._place, None, _DURABLE) != self.uri:
            msg = "the server came back elsewhere"
            raise BenchError(msg)
        return time.monotonic()

    def _command(self, command: sql.SQL | sql.Composed) -> None:
        with closing(connect(self.uri)) as connection:
            connection.execute(command)


@contextmanager
def serve(folder: Path) -> Generator[Server]:
    """Give a server on a cluster of its own below `folder`."""
    with embedded.serve(folder) as server:
        yield Server(server.uri, folder, lasting_place(folder), count(1))
