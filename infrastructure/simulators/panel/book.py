"""The panel's book: a SQLite file with every request, its effect, and the users now.

Written by the simulator in one transaction per request *before* the answer leaves,
so it survives SIGKILL of the simulator; read by anybody with a SQLite client.

`requests`: one row per request that arrived under the panel's own paths.

    seq          order in which the panel recorded them, 1, 2, 3 …
    received_at  ms since 1970, the simulator's clock
    request_id   header X-Request-ID, or null
    method, path the path as sent, with its query string
    body         text, cut at 64 KiB
    user_id, username  whom the request is about, as far as it says or the panel knows
    status       HTTP status sent, null when none was
    error_code   A0xx of that answer, or null
    applied      1 = a write was carried out: a column written, a user born or removed
    effect       JSON {"before": …, "after": …} of an applied write: status, expireAt,
                 trafficLimitBytes, hwidDeviceLimit, activeInternalSquads, each side
                 null when no such user existed
    fault        name of the injected fault, or null
    answered     1 = a whole HTTP message was handed to the client's socket. Rows whose
                 answer waits (hangs, holds) begin with 0 and turn to 1 when it is
                 sent; a plain answer begins with 1 and turns to 0 when its send fails
    began_ns     ns of the machine's monotonic clock when it had arrived
    ended_ns     the same clock when its answer was about to leave, or had left if it
                 waited (hangs, holds); null while nothing has, or for ever after a kill

`users`: the panel's state now. `document` holds every field, instants in ms; the other
columns repeat what auditors ask for: `expire_at` is the text that the panel answers,
`squads` a JSON array. The panel's own passes (EXPIRED, LIMITED) change `users` without
a row in `requests`.
"""

import json
import sqlite3
from pathlib import Path
from typing import Any, Final, NamedTuple

SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS requests (
    seq         INTEGER PRIMARY KEY AUTOINCREMENT,
    received_at INTEGER NOT NULL,
    request_id  TEXT,
    method      TEXT NOT NULL,
    path        TEXT NOT NULL,
    body        TEXT NOT NULL,
    user_id     INTEGER,
    username    TEXT,
    status      INTEGER,
    error_code  TEXT,
    applied     INTEGER NOT NULL CHECK (applied IN (0, 1)),
    effect      TEXT,
    fault       TEXT,
    answered    INTEGER NOT NULL CHECK (answered IN (0, 1)),
    began_ns    INTEGER,
    ended_ns    INTEGER,
    CHECK ((effect IS NOT NULL) = (applied = 1))
) STRICT;
CREATE TABLE IF NOT EXISTS users (
    id                  INTEGER PRIMARY KEY AUTOINCREMENT,
    username            TEXT NOT NULL UNIQUE,
    status              TEXT NOT NULL,
    expire_at           TEXT NOT NULL,
    traffic_limit_bytes INTEGER NOT NULL,
    hwid_device_limit   INTEGER,
    squads              TEXT NOT NULL,
    document            TEXT NOT NULL
) STRICT;
"""

_READ_USERS: Final = """
SELECT id, username, status, expire_at, traffic_limit_bytes, hwid_device_limit, squads
FROM users
ORDER BY id
"""
_READ_REQUESTS: Final = """
SELECT seq, received_at, request_id, method, path, body, user_id, username,
       status, error_code, applied, effect, fault, answered, began_ns, ended_ns
FROM requests
WHERE seq > :after
ORDER BY seq
"""


class BookedUser(NamedTuple):
    """One user as the panel holds it now."""

    id: int
    username: str
    status: str
    expire_at: str
    traffic_limit_bytes: int
    hwid_device_limit: int | None
    squads: tuple[str, ...]


class BookedRequest(NamedTuple):
    """One request as the panel met it; the columns are told in the module's text."""

    seq: int
    received_at: int
    request_id: str | None
    method: str
    path: str
    body: str
    user_id: int | None
    username: str | None
    status: int | None
    error_code: str | None
    applied: bool
    effect: dict[str, Any] | None
    fault: str | None
    answered: bool
    began_ns: int | None
    ended_ns: int | None


def open_book(path: Path) -> sqlite3.Connection:
    """Return a read-only connection, also while the simulator runs; close it."""
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)


def users(book: sqlite3.Connection) -> list[BookedUser]:
    """Return all users of the panel, by id."""
    return [
        BookedUser(*row)._replace(squads=tuple(json.loads(row[6])))
        for row in book.execute(_READ_USERS)
    ]


def requests(book: sqlite3.Connection, *, after: int = 0) -> list[BookedRequest]:
    """Return the requests with a number above `after`, in order."""
    return [_request(row) for row in book.execute(_READ_REQUESTS, {"after": after})]


def _request(row: tuple[Any, ...]) -> BookedRequest:
    request = BookedRequest(*row)
    return request._replace(
        applied=bool(request.applied),
        answered=bool(request.answered),
        effect=None if row[11] is None else json.loads(row[11]),
    )


def applied_writes(book: sqlite3.Connection) -> list[BookedRequest]:
    """Return the requests that changed the panel's state, in order."""
    return [request for request in requests(book) if request.applied]
