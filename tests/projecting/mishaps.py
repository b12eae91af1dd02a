"""Connections whose statements can be counted, cut off and held up."""

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, override

import psycopg

from infrastructure.postgres.database import Connection, connect


class CrashError(BaseException):
    """The process ends here."""


type Hook = Callable[[], None]


class _Cursor(psycopg.Cursor[Any]):
    hook: Hook | None = None

    @override
    def execute(self, *args: Any, **kwargs: Any) -> Any:
        connection = self.connection
        assert isinstance(connection, psycopg.Connection)
        hook = _HOOKS.get(id(connection))
        if hook is not None:
            hook()
        return super().execute(*args, **kwargs)


_HOOKS: dict[int, Hook] = {}


class Mishaps:
    """Lends one connection of the product's make, whose statements are told first."""

    def __init__(self, conninfo: str) -> None:
        self._connection: Connection = connect(conninfo)
        self._connection.cursor_factory = _Cursor
        self._left: int | None = None
        self.reached = threading.Event()
        self.thawed = threading.Event()

    @contextmanager
    def connection(self) -> Generator[Connection]:
        yield self._connection

    def crash_before(self, statement: int) -> None:
        """End the process before one of the statements to come, counted from 0."""
        left = [statement]

        def hook() -> None:
            if left[0] == 0:
                del _HOOKS[id(self._connection)]  # what follows is the server's doing
                raise CrashError
            left[0] -= 1

        _HOOKS[id(self._connection)] = hook

    def freeze_before(self, statement: int) -> None:
        """Stop the process before one of the statements to come, until it is thawed."""
        left = [statement]

        def hook() -> None:
            if left[0] == 0:
                self.reached.set()
                assert self.thawed.wait(60)
            left[0] -= 1

        _HOOKS[id(self._connection)] = hook

    def close(self) -> None:
        _HOOKS.pop(id(self._connection), None)
        self._connection.close()
