"""What requests were answered with, over connections that are lent."""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

import psycopg

from application.once.commit import refuse_key
from application.unit import Answer, KeyRefused, Once
from infrastructure.once.keys import find


class _Connections(Protocol):
    def connection(self) -> AbstractContextManager[psycopg.Connection[Any]]:
        """Lend an autocommit connection."""
        ...


@dataclass(frozen=True, slots=True)
class PostgresAnswers:
    """Looks keys up; see `Answers`."""

    connections: _Connections

    def find(self, once: Once) -> Answer | None:
        """See `Answers.find`."""
        with self.connections.connection() as connection:
            found = find(connection, once)
        if isinstance(found, KeyRefused):
            refuse_key(found)
        return found
