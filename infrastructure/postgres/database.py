"""Connections to PostgreSQL: pooled and direct, all of one make.

What every connection promises, directly or through PgBouncer in transaction mode:

* autocommit: a transaction is begun where it is meant, by `transaction`;
* no session state: limits are set inside each transaction, never with a bare SET;
* instants come back in UTC whatever the server's or the role's time zone is;
* a lost connection is a `DatabaseUnavailableError`, a commit whose answer was
  lost a `CommitUnknownError`; every other refusal keeps the driver's class.
"""

import math
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Final, Self

import psycopg
from psycopg.conninfo import make_conninfo
from psycopg.pq import TransactionStatus
from psycopg_pool import PoolClosed, PoolTimeout

from infrastructure.errors import (
    CommitUnknownError,
    ConfigurationError,
    DatabaseUnavailableError,
)
from infrastructure.postgres.arrays import take_packed_arrays
from infrastructure.postgres.pool.pool import (
    LONGEST_PAUSE_SECONDS,
    Look,
    Pool,
    drawn,
)
from infrastructure.postgres.utc import return_instants_in_utc

type Connection = psycopg.Connection[tuple[object, ...]]

LEAST_VERSION: Final = 15
_SETTING: Final = "COUNTERFOIL_DATABASE_URL"
CONNECT_SECONDS: Final = 10
_LINK: Final[dict[str, str | int]] = {
    "connect_timeout": CONNECT_SECONDS,
    # A peer that vanished without a word is noticed long before a lease ends.
    "keepalives_idle": 5,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
    "client_encoding": "utf8",  # of JSON, whatever the environment says
}
_POOL_WAIT_SECONDS: Final = 30.0
_FIRST_PAUSE_SECONDS: Final = 0.05

# One round trip, and the limits end with the transaction (mechanisms 7).  Without JIT:
# up to PostgreSQL 17 a batch whose rows were guessed too many is compiled for longer
# than it runs.
_BEGIN: Final = """
BEGIN;
SET LOCAL lock_timeout = '2s';
SET LOCAL idle_in_transaction_session_timeout = '10s';
SET LOCAL jit = off
"""

# A plan made while a table was small would scan it whole for as long as nobody
# analyzes it, and one made anew for every few keys costs more than their look-up.
_BEGIN_KEYED: Final = f"""
{_BEGIN};
SET LOCAL enable_seqscan = off;
SET LOCAL plan_cache_mode = force_generic_plan
"""

_GONE: Final = ("08", "25P03", "25P04", "57P01", "57P02", "57P03", "57P05", "53300")
"""SQLSTATEs of a connection that ended or was never had: lost, asleep for too long in
a transaction or without, shut down, crashed, starting, too many."""


def connect(conninfo: str, *, application_name: str = "counterfoil") -> Connection:
    """Return a new autocommit connection of our make; the caller closes it.

    Raises:
        ConfigurationError: the server is older than PostgreSQL 15.
        DatabaseUnavailableError: the server cannot be reached or refuses us.
    """
    with unavailable_in_our_words():
        connection = psycopg.connect(
            make_conninfo(conninfo, **_LINK),
            autocommit=True,
            application_name=application_name,
        )
    try:
        _prepare(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _prepare(connection: Connection) -> None:
    require_version(connection.info.server_version)
    return_instants_in_utc(connection)
    take_packed_arrays(connection)


def require_version(server_version: int) -> None:
    """Refuse a server (its version as libpq tells it) that is too old for us.

    Raises:
        ConfigurationError: it is older than PostgreSQL 15.
    """
    major = server_version // 10_000
    if major < LEAST_VERSION:
        raise ConfigurationError(
            _SETTING,
            f"the server is PostgreSQL {major}",
            f"PostgreSQL {LEAST_VERSION} or later is needed",
        )


@contextmanager
def unavailable_in_our_words() -> Generator[None]:
    """Turn a connection that is lost or cannot be had into our error.

    Raises:
        DatabaseUnavailableError: see there; other errors pass unchanged.
    """
    try:
        yield
    except (PoolTimeout, PoolClosed) as error:
        raise DatabaseUnavailableError(str(error)) from error
    except psycopg.Error as error:
        if not is_gone(error):
            raise
        raise DatabaseUnavailableError(_told(error)) from error


def is_gone(error: psycopg.Error) -> bool:
    """Return whether the connection is lost, rather than a statement refused."""
    if error.sqlstate is None:
        return isinstance(error, psycopg.OperationalError)
    return error.sqlstate.startswith(_GONE)


def _told(error: psycopg.Error) -> str:
    """Return the driver's words on one line; they hold no secret."""
    return " ".join(str(error).split()) or type(error).__name__


_IN_PIPELINE: Final = "open the pipeline inside the transaction, not around it"
_SWALLOWED: Final = "an error inside the transaction was swallowed; it cannot commit"


@contextmanager
def transaction(connection: Connection, *, keyed: bool = False) -> Generator[None]:
    """Commit at the end, or roll back; locks are waited for 2 s at most.

    In a `keyed` one every statement finds its rows by their keys, and is planned so.

    A transaction that does nothing for 10 s is ended by the server.  Inside,
    `connection.transaction()` makes savepoints, and pipelines begin and end: only
    so does a commit tell whether it happened before anybody goes on.

    Raises:
        RuntimeError: a pipeline is open around it.
        CommitUnknownError: the connection ended during COMMIT.
        DatabaseUnavailableError: it ended before; nothing was committed.
    """
    if connection.info.pipeline_status:
        raise RuntimeError(_IN_PIPELINE)
    with unavailable_in_our_words():
        connection.execute(_BEGIN_KEYED if keyed else _BEGIN, prepare=False)
        try:
            yield
            _refuse_half(connection)
        except BaseException:
            _roll_back(connection)
            raise
    try:
        connection.execute("COMMIT", prepare=False)
    except psycopg.Error as error:
        if not is_gone(error):
            raise
        raise CommitUnknownError(_told(error)) from error


def _refuse_half(connection: Connection) -> None:
    """Refuse to commit what PostgreSQL would silently roll back."""
    if connection.info.transaction_status == TransactionStatus.INERROR:
        raise psycopg.errors.InFailedSqlTransaction(_SWALLOWED)


def _roll_back(connection: Connection) -> None:
    try:
        connection.execute("ROLLBACK", prepare=False)
    except psycopg.Error:
        connection.close()  # lost, or in a state that nobody knows: never reused


class Database:
    """One database: a pool for the short units of work, and direct connections."""

    look: Look | None = None
    """Looks at every new connection of the pool, before anybody has it."""
    wait_seconds: float | None = None
    """How long somebody waits for a connection of the pool; None: 30 s."""

    def __init__(
        self, conninfo: str, *, pool_size: int, application_name: str = "counterfoil"
    ) -> None:
        """Prepare a pool of at most `pool_size`; `open` connects."""
        self.conninfo = conninfo
        self.name = application_name
        self._pool = Pool(
            conninfo,
            min_size=1,
            max_size=pool_size,
            open=False,
            timeout=_POOL_WAIT_SECONDS,
            reconnect_timeout=math.inf,  # else those who wait then are not served
            kwargs={
                "autocommit": True,
                **_LINK,
                "application_name": application_name,
            },
            configure=self._configure,
            name=application_name,
        )

    def _configure(self, connection: Connection) -> None:
        _prepare(connection)
        if self.look is not None:
            self.look(connection)

    def open(self) -> None:
        """Connect once, so that a wrong address or an old server is told now.

        Raises:
            ConfigurationError: the server is older than PostgreSQL 15.
            DatabaseUnavailableError: the server cannot be reached or refuses us.
        """
        self.connect().close()
        self._pool.open()

    def close(self) -> None:
        """Close the pool; connections still in use are closed on their return."""
        self._pool.close()

    def __enter__(self) -> Self:
        """See `open`."""
        self.open()
        return self

    def __exit__(self, *_: object) -> None:
        """See `close`."""
        self.close()

    @contextmanager
    def connection(self) -> Generator[Connection]:
        """Give a pooled connection, outside any transaction.

        Raises:
            DatabaseUnavailableError: none could be had in time, or it was lost.
        """
        lent = self._pool.connection(self.wait_seconds)
        with unavailable_in_our_words(), lent as connection:
            yield connection

    @contextmanager
    def transaction(self) -> Generator[Connection]:
        """Give a pooled connection in a transaction of its own; see `transaction`."""
        with self.connection() as connection, transaction(connection):
            yield connection

    def pool_stats(self) -> Mapping[str, int]:
        """Return the pool's own figures (psycopg_pool's names)."""
        return self._pool.get_stats()

    def longest_wait(self) -> float:
        """Return for how long somebody has been waiting for a pooled connection."""
        return self._pool.longest_wait()

    def connect(self) -> Connection:
        """Return a connection outside the pool, which the caller closes."""
        return connect(self.conninfo, application_name=self.name)

    def connect_with_backoff(self, stop: threading.Event) -> Connection | None:
        """Return a connection outside the pool, however long that takes.

        None only when `stop` was set first.  Pauses double up to a second.

        Raises:
            ConfigurationError: the server is older than PostgreSQL 15.
        """
        pause = _FIRST_PAUSE_SECONDS
        while not stop.is_set():
            try:
                return self.connect()
            except DatabaseUnavailableError:
                stop.wait(drawn(pause))
                pause = min(pause * 2, LONGEST_PAUSE_SECONDS)
        return None
