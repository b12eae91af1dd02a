"""How read models borrow connections."""

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import psycopg

type Lend = Callable[[], AbstractContextManager[psycopg.Connection[Any]]]
"""Lends an autocommit connection outside any transaction."""

_ONE_SNAPSHOT = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"


@contextmanager
def one_snapshot(lend: Lend) -> Generator[psycopg.Connection[Any]]:
    """Give a connection whose reads all see the same moment, and change nothing."""
    with lend() as connection, connection.transaction():
        connection.execute(_ONE_SNAPSHOT)
        yield connection
