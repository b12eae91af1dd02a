"""The gateway's ledger: a SQLite file with every request and everything handed over.

Written by the simulator, on the disk (synchronous FULL) *before* its answer leaves;
read by anybody with a SQLite client.  It is the judge of who bought what how often.

`requests`: one row per request that arrived under the gateway's own paths.

    seq           order in which they arrived, 1, 2, 3 …
    received_at   ms since 1970, the gateway's clock
    dialect       `blind` (no keys, no look-ups) or `keyed`
    action        `purchase`, `lookup`, `balance`, `price` or `other`
    method, path  as sent
    key           header Idempotency-Key, which the keyed dialect honours, or null
    decision_key  header X-Request-ID: which decision to buy it is about, as the buyer
                  says; means nothing to the gateway itself
    recipient     of a purchase, as sent
    fault         name of the injected fault, or null
    status        HTTP status of the answer, null: none was decided (yet)
    told          what the answer says: `delivered`, `accepted`, `failed`, an error

`effects`: one row per hand-over of goods for which the buyer has paid.

    seq, request  its own number, and that of the request that caused it
    at            ms since 1970
    reference     the gateway's own name of the purchase
    key, decision_key, order_id, recipient    as in its request
    product       kind, such as `telegram_stars`
    units         how many units in all (stars, months): pieces times what one holds
    amount_minor, currency                    what the buyer paid

`purchases`: what the gateway knows of each purchase that it has taken, by reference;
`state` is `accepted`, `delivered` or `failed`.  Only `delivered` ones have an effect.

`callbacks`: one row per event that is told to the buyer; `copies` how often.
"""

import sqlite3
from pathlib import Path
from typing import Final, NamedTuple

SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS requests (
    seq          INTEGER PRIMARY KEY AUTOINCREMENT,
    received_at  INTEGER NOT NULL,
    dialect      TEXT NOT NULL,
    action       TEXT NOT NULL,
    method       TEXT NOT NULL,
    path         TEXT NOT NULL,
    key          TEXT,
    decision_key TEXT,
    recipient    TEXT,
    fault        TEXT,
    status       INTEGER,
    told         TEXT
) STRICT;
CREATE INDEX IF NOT EXISTS requests_decision ON requests (decision_key);
CREATE TABLE IF NOT EXISTS purchases (
    reference    TEXT PRIMARY KEY,
    request      INTEGER NOT NULL REFERENCES requests (seq),
    key          TEXT,
    request_hash TEXT NOT NULL,
    key_until    INTEGER,
    state        TEXT NOT NULL CHECK (state IN ('accepted', 'delivered', 'failed')),
    code         TEXT,
    due_at       INTEGER,
    becomes      TEXT CHECK (becomes IN ('delivered', 'failed')),
    order_id     TEXT,
    product      TEXT NOT NULL,
    units        INTEGER NOT NULL,
    recipient    TEXT NOT NULL,
    amount_minor INTEGER NOT NULL,
    currency     TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS purchases_key ON purchases (key);
CREATE INDEX IF NOT EXISTS purchases_due ON purchases (due_at) WHERE state = 'accepted';
CREATE TABLE IF NOT EXISTS effects (
    seq          INTEGER PRIMARY KEY AUTOINCREMENT,
    request      INTEGER NOT NULL REFERENCES requests (seq),
    at           INTEGER NOT NULL,
    reference    TEXT NOT NULL UNIQUE REFERENCES purchases (reference),
    key          TEXT,
    decision_key TEXT,
    order_id     TEXT,
    product      TEXT NOT NULL,
    units        INTEGER NOT NULL,
    recipient    TEXT NOT NULL,
    amount_minor INTEGER NOT NULL,
    currency     TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS effects_decision ON effects (decision_key);
CREATE TABLE IF NOT EXISTS callbacks (
    seq       INTEGER PRIMARY KEY AUTOINCREMENT,
    at        INTEGER NOT NULL,
    reference TEXT NOT NULL REFERENCES purchases (reference),
    key       TEXT,
    body      TEXT NOT NULL,
    copies    INTEGER NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS account (
    one   INTEGER PRIMARY KEY CHECK (one = 1),
    minor INTEGER NOT NULL
) STRICT;
"""

_READ_REQUESTS: Final = """
SELECT seq, received_at, dialect, action, method, path, key, decision_key, recipient,
       fault, status, told
FROM requests
WHERE seq > :after
ORDER BY seq
"""
_READ_EFFECTS: Final = """
SELECT seq, request, at, reference, key, decision_key, order_id, product, units,
       recipient, amount_minor, currency
FROM effects
WHERE seq > :after
ORDER BY seq
"""


class LedgerRequest(NamedTuple):
    """One request as the gateway met it; the columns are told in the module's text."""

    seq: int
    received_at: int
    dialect: str
    action: str
    method: str
    path: str
    key: str | None
    decision_key: str | None
    recipient: str | None
    fault: str | None
    status: int | None
    told: str | None


class LedgerEffect(NamedTuple):
    """One hand-over of goods; the columns are told in the module's text."""

    seq: int
    request: int
    at: int
    reference: str
    key: str | None
    decision_key: str | None
    order_id: str | None
    product: str
    units: int
    recipient: str
    amount_minor: int
    currency: str


def open_ledger(path: Path) -> sqlite3.Connection:
    """Return a read-only connection, also while the simulator runs; close it."""
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)


def requests(ledger: sqlite3.Connection, *, after: int = 0) -> list[LedgerRequest]:
    """Return the requests with a number above `after`, in order."""
    rows = ledger.execute(_READ_REQUESTS, {"after": after})
    return [LedgerRequest(*row) for row in rows]


def effects(ledger: sqlite3.Connection, *, after: int = 0) -> list[LedgerEffect]:
    """Return the hand-overs with a number above `after`, in order."""
    rows = ledger.execute(_READ_EFFECTS, {"after": after})
    return [LedgerEffect(*row) for row in rows]
