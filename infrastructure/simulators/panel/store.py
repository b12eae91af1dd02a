"""The writing side of the book: one transaction per request, before its answer.

Journal WAL with synchronous NORMAL: a commit survives SIGKILL of the simulator (not
a power cut), and readers are never blocked. A lock file keeps a second simulator off
the same book, whose memory would not know what the first one commits.
"""

import fcntl
import json
import os
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from infrastructure.simulators.panel.book import SCHEMA
from infrastructure.simulators.panel.users.timestamps import format_timestamp
from infrastructure.simulators.panel.users.user import User, restored

BODY_CHARACTERS: Final = 64 * 1024

_INSERT_REQUEST: Final = """
INSERT INTO requests (received_at, request_id, method, path, body, user_id, username,
                      status, error_code, applied, effect, fault, answered,
                      began_ns, ended_ns)
VALUES (:received_at, :request_id, :method, :path, :body, :user_id, :username,
        :status, :error_code, :applied, :effect, :fault, :answered,
        :began_ns, :ended_ns)
"""
_COMPLETE_REQUEST: Final = """
UPDATE requests
SET user_id = :user_id, username = :username, status = :status,
    error_code = :error_code, applied = :applied, effect = :effect,
    answered = :answered, ended_ns = :ended_ns
WHERE seq = :seq
"""
_CORRECT_ANSWERED: Final = """
UPDATE requests
SET answered = :answered, ended_ns = :ended_ns
WHERE seq = :seq
"""
_COLUMNS: Final = "SELECT name FROM pragma_table_info('requests')"
_ADD_MOMENTS: Final = """
ALTER TABLE requests ADD COLUMN began_ns INTEGER;
ALTER TABLE requests ADD COLUMN ended_ns INTEGER;
"""
_WRITE_USER: Final = """
INSERT INTO users (id, username, status, expire_at, traffic_limit_bytes,
                   hwid_device_limit, squads, document)
VALUES (:id, :username, :status, :expire_at, :traffic_limit_bytes,
        :hwid_device_limit, :squads, :document)
ON CONFLICT (id) DO UPDATE
SET status = excluded.status, expire_at = excluded.expire_at,
    traffic_limit_bytes = excluded.traffic_limit_bytes,
    hwid_device_limit = excluded.hwid_device_limit, squads = excluded.squads,
    document = excluded.document
"""
_REMOVE_USER: Final = "DELETE FROM users WHERE id = :id"
_READ_DOCUMENTS: Final = "SELECT document FROM users ORDER BY id"
_LAST_ID: Final = "SELECT seq FROM sqlite_sequence WHERE name = 'users'"
_COUNT: Final = "SELECT count(*) FROM requests"


class BookInUseError(RuntimeError):
    """Another simulator writes this book."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One row of `requests`, still without its number."""

    received_at: int
    request_id: str | None
    method: str
    path: str
    body: str
    fault: str | None
    user_id: int | None = None
    username: str | None = None
    status: int | None = None
    error_code: str | None = None
    applied: bool = False
    effect: str | None = None
    answered: bool = False
    began_ns: int | None = None
    ended_ns: int | None = None


class Store:
    """The book, open for writing. Not thread-safe: its owner holds a lock."""

    def __init__(self, path: Path) -> None:
        """Open or make the book.

        Raises:
            BookInUseError: another simulator has it.
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        self._lock: Final = _locked(path)
        self._db: Final = sqlite3.connect(
            path, isolation_level=None, check_same_thread=False
        )
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = NORMAL")
        self._db.execute("PRAGMA busy_timeout = 5000")
        self._db.executescript(SCHEMA)
        if ("ended_ns",) not in self._db.execute(_COLUMNS).fetchall():
            self._db.executescript(_ADD_MOMENTS)  # a book of an earlier version

    def close(self) -> None:
        """Let go of the book."""
        self._db.close()
        os.close(self._lock)

    def users(self) -> list[User]:
        """Return all users, by id."""
        return [
            restored(json.loads(document))
            for (document,) in self._db.execute(_READ_DOCUMENTS)
        ]

    def last_user_id(self) -> int:
        """Return the highest id ever given, also to a user removed since."""
        row = self._db.execute(_LAST_ID).fetchone()
        return int(row[0]) if row else 0

    def count_requests(self) -> int:
        """Return how many requests the book has."""
        return int(self._db.execute(_COUNT).fetchone()[0])

    def record(
        self,
        entry: Entry,
        *,
        seq: int | None,
        written: User | None = None,
        removed: User | None = None,
    ) -> int:
        """Commit the row and the user's new state together; return the row's number.

        `seq` completes a row that was made when its request arrived.
        """
        row = {name: getattr(entry, name) for name in Entry.__slots__}
        with self._db:
            self._db.execute("BEGIN IMMEDIATE")
            if written is not None:
                self._db.execute(_WRITE_USER, _user_row(written))
            if removed is not None:
                self._db.execute(_REMOVE_USER, {"id": removed.id})
            if seq is None:
                return int(self._db.execute(_INSERT_REQUEST, row).lastrowid or 0)
            self._db.execute(_COMPLETE_REQUEST, {**row, "seq": seq})
            return seq

    def correct_answered(self, seq: int, *, answered: bool, ended_ns: int) -> None:
        """Commit whether the answer of that row was sent after all, and until when."""
        row = {"seq": seq, "answered": answered, "ended_ns": ended_ns}
        self._db.execute(_CORRECT_ANSWERED, row)

    def write_users(self, users: Iterable[User]) -> None:
        """Commit the new state of users that no request changed."""
        with self._db:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.executemany(_WRITE_USER, map(_user_row, users))


def _locked(path: Path) -> int:
    lock = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(lock)
        msg = f"another simulator writes {path}"
        raise BookInUseError(msg) from error
    return lock


def _user_row(user: User) -> dict[str, object]:
    return {
        "id": user.id,
        "username": user.username,
        "status": user.status,
        "expire_at": format_timestamp(user.expire_at),
        "traffic_limit_bytes": user.traffic_limit_bytes,
        "hwid_device_limit": user.hwid_device_limit,
        "squads": json.dumps(user.squads),
        "document": json.dumps(user.stored()),
    }
