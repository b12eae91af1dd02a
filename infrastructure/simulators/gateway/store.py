"""The writing side of the ledger: each commit is on the disk when it returns.

A lock file keeps a second simulator off the same ledger.
"""

import fcntl
import os
import sqlite3
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from infrastructure.simulators.gateway.ledger import SCHEMA

_INSERT_REQUEST: Final = """
INSERT INTO requests (received_at, dialect, action, method, path, key, decision_key,
                      recipient, fault)
VALUES (:received_at, :dialect, :action, :method, :path, :key, :decision_key,
        :recipient, :fault)
"""
_TELL: Final = """
UPDATE requests SET status = :status, told = :told WHERE seq = :seq
"""
_INSERT_PURCHASE: Final = """
INSERT INTO purchases (reference, request, key, request_hash, key_until, state, code,
                       due_at, becomes, order_id, product, units, recipient,
                       amount_minor, currency)
VALUES (:reference, :request, :key, :request_hash, :key_until, :state, :code,
        :due_at, :becomes, :order_id, :product, :units, :recipient,
        :amount_minor, :currency)
"""
_INSERT_EFFECT: Final = """
INSERT INTO effects (request, at, reference, key, decision_key, order_id, product,
                     units, recipient, amount_minor, currency)
SELECT p.request, :at, p.reference, p.key, r.decision_key, p.order_id, p.product,
       p.units, p.recipient, p.amount_minor, p.currency
FROM purchases p JOIN requests r ON r.seq = p.request
WHERE p.reference = :reference
"""
_END: Final = """
UPDATE purchases SET state = :state, code = :code, due_at = NULL, becomes = NULL
WHERE reference = :reference AND state = 'accepted'
"""
_READ_PURCHASE: Final = """
SELECT reference, request, key, request_hash, key_until, state, code, due_at, becomes,
       order_id, product, units, recipient, amount_minor, currency
FROM purchases
"""
_OF_KEY: Final = f"{_READ_PURCHASE} WHERE key = :key ORDER BY request DESC LIMIT 1"
_OF_REFERENCE: Final = f"{_READ_PURCHASE} WHERE reference = :reference"
_DUE: Final = f"{_READ_PURCHASE} WHERE state = 'accepted' AND due_at <= :now"
_INSERT_CALLBACK: Final = """
INSERT INTO callbacks (at, reference, key, body, copies)
VALUES (:at, :reference, :key, :body, :copies)
"""
_READ_CALLBACKS: Final = """
SELECT seq, body, copies FROM callbacks
WHERE :key IS NULL OR key = :key ORDER BY seq
"""
_OPEN_ACCOUNT: Final = """
INSERT INTO account (one, minor) VALUES (1, :minor) ON CONFLICT DO NOTHING
"""
_CHANGE_ACCOUNT: Final = "UPDATE account SET minor = minor + :minor"
_SET_ACCOUNT: Final = "UPDATE account SET minor = :minor"


class LedgerInUseError(RuntimeError):
    """Another simulator writes this ledger."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """One row of `requests` as it is when the request arrives."""

    received_at: int
    dialect: str
    action: str
    method: str
    path: str
    key: str | None
    decision_key: str | None
    recipient: str | None
    fault: str | None


@dataclass(frozen=True, slots=True)
class Bought:
    """One row of `purchases`."""

    reference: str
    request: int
    key: str | None
    request_hash: str
    key_until: int | None
    state: str
    code: str | None
    due_at: int | None
    becomes: str | None
    order_id: str | None
    product: str
    units: int
    recipient: str
    amount_minor: int
    currency: str


@dataclass(frozen=True, slots=True)
class Callback:
    """One row of `callbacks`."""

    seq: int
    body: str
    copies: int


class Store:
    """The ledger, open for writing.  Not thread-safe: its owner holds a lock."""

    def __init__(self, path: Path, balance_minor: int) -> None:
        """Open or make the ledger; a new one begins with that much money.

        Raises:
            LedgerInUseError: another simulator has it.
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        self._lock: Final = _locked(path)
        self._db: Final = sqlite3.connect(
            path, isolation_level=None, check_same_thread=False
        )
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")  # a commit is on the disk
        self._db.execute("PRAGMA busy_timeout = 5000")
        self._db.executescript(f"BEGIN;{SCHEMA}COMMIT;")
        self._db.execute(_OPEN_ACCOUNT, {"minor": balance_minor})

    def close(self) -> None:
        """Let go of the ledger."""
        self._db.close()
        os.close(self._lock)

    def arrive(self, arrival: Arrival) -> int:
        """Commit that a request has arrived; return its number."""
        return int(self._db.execute(_INSERT_REQUEST, asdict(arrival)).lastrowid or 0)

    def tell(self, seq: int, status: int | None, told: str) -> None:
        """Commit what the request is about to be told."""
        self._db.execute(_TELL, {"seq": seq, "status": status, "told": told})

    def buy(self, bought: Bought, now: int, callback: Mapping[str, Any] | None) -> None:
        """Commit a purchase, with its effect if it is delivered, and its price."""
        with self._db:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.execute(_INSERT_PURCHASE, asdict(bought))
            self._db.execute(_CHANGE_ACCOUNT, {"minor": -bought.amount_minor})
            self._follow(bought.state, bought, now, callback)

    def end(
        self,
        bought: Bought,
        state: str,
        now: int,
        *,
        code: str | None,
        callback: Mapping[str, Any] | None,
    ) -> bool:
        """Commit how an accepted purchase ended; False: it had ended before."""
        with self._db:
            self._db.execute("BEGIN IMMEDIATE")
            row = {"reference": bought.reference, "state": state, "code": code}
            if self._db.execute(_END, row).rowcount == 0:
                return False
            if state == "failed":
                self._db.execute(_CHANGE_ACCOUNT, {"minor": bought.amount_minor})
            self._follow(state, bought, now, callback)
            return True

    def _follow(
        self, state: str, bought: Bought, now: int, callback: Mapping[str, Any] | None
    ) -> None:
        if state == "delivered":
            row = {"at": now, "reference": bought.reference}
            self._db.execute(_INSERT_EFFECT, row)
        if callback is not None:
            named = {"at": now, "reference": bought.reference, "key": bought.key}
            self._db.execute(_INSERT_CALLBACK, {**named, **callback})

    def of_key(self, key: str) -> Bought | None:
        """Return the latest purchase under that key."""
        return _bought(self._db.execute(_OF_KEY, {"key": key}).fetchone())

    def of_reference(self, reference: str) -> Bought | None:
        """Return the purchase of that name."""
        row = self._db.execute(_OF_REFERENCE, {"reference": reference}).fetchone()
        return _bought(row)

    def due(self, now: int) -> list[Bought]:
        """Return the accepted purchases whose end is due."""
        return [Bought(*row) for row in self._db.execute(_DUE, {"now": now})]

    def callbacks(self, key: str | None) -> list[Callback]:
        """Return what was told to buyers, about one key or all, in order."""
        rows = self._db.execute(_READ_CALLBACKS, {"key": key})
        return [Callback(*row) for row in rows]

    def balance(self) -> int:
        """Return how much of the buyer's money is left."""
        return int(self._db.execute("SELECT minor FROM account").fetchone()[0])

    def set_balance(self, minor: int) -> None:
        """Commit how much of the buyer's money is left."""
        self._db.execute(_SET_ACCOUNT, {"minor": minor})

    def counts(self) -> dict[str, int]:
        """Return how many requests and effects the ledger holds."""
        return {
            "requests": int(_one(self._db.execute("SELECT count(*) FROM requests"))),
            "effects": int(_one(self._db.execute("SELECT count(*) FROM effects"))),
        }


def _one(cursor: sqlite3.Cursor) -> Any:  # noqa: ANN401 - what SQLite returns
    return cursor.fetchone()[0]


def _bought(row: tuple[Any, ...] | None) -> Bought | None:
    return None if row is None else Bought(*row)


def _locked(path: Path) -> int:
    lock = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(lock)
        msg = f"another simulator writes {path}"
        raise LedgerInUseError(msg) from error
    return lock
