"""What is compared, read once: the log, the simulators' books, the people's diary."""

import json
import re
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from infrastructure.demo.diary import Diary
from infrastructure.postgres.database import Connection
from infrastructure.simulators.gateway.ledger import (
    LedgerEffect,
    LedgerRequest,
    effects,
    open_ledger,
)
from infrastructure.simulators.gateway.ledger import requests as asked
from infrastructure.simulators.panel.book import (
    BookedRequest,
    BookedUser,
    open_book,
    requests,
    users,
)

REQUEST_ID: Final = re.compile(r"([0-9a-f-]{36})\.(\d+)\.(\d+)")
"""Operation, attempt and call, as the product names its requests."""

_PURCHASE: Final = "purchase"
_USED: Final = "SELECT username, document FROM users"


@dataclass(frozen=True, slots=True)
class Books:
    """Everything that is compared."""

    connection: Connection
    requests: tuple[BookedRequest, ...]
    users: dict[str, list[BookedUser]]
    """By name."""
    used: dict[str, int]
    """Traffic in bytes, by name."""
    purchases: tuple[LedgerRequest, ...]
    """Every request to buy that the gateway met,"""
    effects: tuple[LedgerEffect, ...]
    """and everything that it has handed over."""
    diary: Diary

    def rows(self, statement: str) -> list[tuple[object, ...]]:
        """Return the rows of one of the check's own statements."""
        return self.connection.execute(statement.encode()).fetchall()


type Ask = Callable[[Books], Iterator[str | None]]
"""Yields None for each thing that agrees, a sentence for each that does not."""


def read_books(connection: Connection, book: Path, ledger: Path, diary: Diary) -> Books:
    """Return what the check is about."""
    with closing(open_book(book)) as opened, closing(open_ledger(ledger)) as sold:
        return Books(
            connection,
            tuple(requests(opened)),
            _by_name(opened),
            _used(opened),
            tuple(each for each in asked(sold) if each.action == _PURCHASE),
            tuple(effects(sold)),
            diary,
        )


def _by_name(opened: sqlite3.Connection) -> dict[str, list[BookedUser]]:
    named: dict[str, list[BookedUser]] = defaultdict(list)
    for user in users(opened):
        named[user.username].append(user)
    return named


def _used(opened: sqlite3.Connection) -> dict[str, int]:
    return {
        str(name): int(json.loads(document)["used_traffic_bytes"])
        for name, document in opened.execute(_USED)
    }


def attempt_of(request: BookedRequest) -> tuple[str, int] | None:
    """Return operation and attempt of a request; None: it was not the product's."""
    named = REQUEST_ID.fullmatch(request.request_id or "")
    return None if named is None else (named[1], int(named[2]))
