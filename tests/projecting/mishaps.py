"""Connections whose statements can be counted, cut off and held up."""

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, override

import psycopg
from psycopg.sql import Composable

from infrastructure.postgres.database import Connection, connect


class CrashError(BaseException):
    """The process ends here."""


type Hook = Callable[[str], None]


class _Cursor(psycopg.Cursor[Any]):
    hook: Hook | None = None

    @override
    def execute(self, query: Any, *args: Any, **kwargs: Any) -> Any:
        connection = self.connection
        assert isinstance(connection, psycopg.Connection)
        hook = _HOOKS.get(id(connection))
        if hook is not None:
            text = query.as_string() if isinstance(query, Composable) else str(query)
            hook(text)
        return super().execute(query, *args, **kwargs)


_HOOKS: dict[int, Hook] = {}


class Mishaps:
    """Lends one connection of the product's make, whose statements are told first."""

    def __init__(self, conninfo: str) -> None:
        self._connection: Connection = connect(conninfo)
        self._connection.cursor_factory = _Cursor
        self.reached = threading.Event()
        self.thawed = threading.Event()

    @contextmanager
    def connection(self) -> Generator[Connection]:
        yield self._connection

    def crash_before(self, statement: int) -> None:
        """End the process before one of the statements to come, counted from 0."""
        left = [statement]

        def hook(_statement: str) -> None:
            if left[0] == 0:
                del _HOOKS[id(self._connection)]  # what follows is the server's doing
                raise CrashError
            left[0] -= 1

        _HOOKS[id(self._connection)] = hook

    def fail_before(self, word: str, error: Exception, times: int = 1) -> None:
        """Let the server refuse statements that hold a word, so many times."""
        left = [times]

        def hook(statement: str) -> None:
            if word in statement and left[0]:
                left[0] -= 1
                raise error

        _HOOKS[id(self._connection)] = hook

    def lose_answer(self, *, is_committed: bool) -> None:
        """Cut the connection at the next COMMIT, which has happened or has not."""

        def hook(statement: str) -> None:
            if statement != "COMMIT":
                return
            del _HOOKS[id(self._connection)]
            self._connection.execute("COMMIT" if is_committed else "ROLLBACK")
            raise psycopg.OperationalError

        _HOOKS[id(self._connection)] = hook

    def count(self, word: str) -> list[str]:
        """Return where statements that hold a word will be written down."""
        seen: list[str] = []

        def hook(statement: str) -> None:
            if word in statement:
                seen.append(statement)

        _HOOKS[id(self._connection)] = hook
        return seen

    def freeze_before(self, statement: int) -> None:
        """Stop the process before one of the statements to come, until it is thawed."""
        left = [statement]

        def hook(_statement: str) -> None:
            if left[0] == 0:
                self.reached.set()
                assert self.thawed.wait(60)
            left[0] -= 1

        _HOOKS[id(self._connection)] = hook

    def close(self) -> None:
        _HOOKS.pop(id(self._connection), None)
        self._connection.close()
