"""Keeps how providers are, in one row each; answers come from handlers' threads.

A handler only puts an answer down: it has an outcome to settle.  A thread of its own,
begun with the first answer, writes them; what cannot be written while the database is
away is forgotten, the next answers tell the same.
"""

import threading
from queue import SimpleQueue
from typing import Final, NamedTuple

import psycopg
from msgspec.structs import replace

from domain.event import Instant
from domain.goods.health import (
    PATIENCE,
    Health,
    Patience,
    Sign,
    Status,
    judged,
    may_probe,
)
from infrastructure.errors import DatabaseUnavailableError
from infrastructure.postgres.batch_store import Connections
from infrastructure.postgres.database import Connection, transaction
from infrastructure.postgres.heads.table import (
    instant,
    maybe_instant,
    maybe_text,
    number,
    text,
)
from infrastructure.telemetry import emit

_MAKE: Final = """
INSERT INTO counterfoil.goods_health (tenant_id, provider)
VALUES (%(tenant_id)s, %(provider)s)
    ON CONFLICT (tenant_id, provider) DO NOTHING
"""

_LOCK: Final = """
SELECT counterfoil.now(), status, failures, last_error_code, last_checked_at, closed_at,
       retry_at, probe_until
  FROM counterfoil.goods_health
 WHERE tenant_id = %(tenant_id)s
   AND provider = %(provider)s
   FOR UPDATE
"""

_IS_CLOSED: Final = """
SELECT 1
  FROM counterfoil.goods_health
 WHERE tenant_id = %(tenant_id)s
   AND provider = %(provider)s
   AND closed_at IS NOT NULL
"""

_WRITE: Final = """
UPDATE counterfoil.goods_health
   SET status = %(status)s, failures = %(failures)s,
       last_error_code = %(last_error_code)s, last_checked_at = %(last_checked_at)s,
       closed_at = %(closed_at)s, retry_at = %(retry_at)s,
       probe_until = %(probe_until)s
 WHERE tenant_id = %(tenant_id)s
   AND provider = %(provider)s
"""


class Told(NamedTuple):
    """What one answer says of a provider."""

    tenant_id: str
    provider: str
    sign: Sign
    code: str | None = None


def judge(
    connection: Connection, told: Told, patience: Patience = PATIENCE
) -> tuple[Health, Health]:
    """Return the health before and after one answer, written but not committed."""
    whose = {"tenant_id": told.tenant_id, "provider": told.provider}
    now, before = _locked(connection, whose)
    after = judged(before, told.sign, told.code, now, patience)
    if after != before:
        _write(connection, whose, after)
    return before, after


def _locked(connection: Connection, whose: dict[str, str]) -> tuple[Instant, Health]:
    row = connection.execute(_LOCK, whose).fetchone()
    if row is None:
        connection.execute(_MAKE, whose)
        (row,) = connection.execute(_LOCK, whose).fetchall()
    return instant(row[0]), Health(
        status=Status(text(row[1])),
        failures=number(row[2]),
        last_error_code=maybe_text(row[3]),
        last_checked_at=maybe_instant(row[4]),
        closed_at=maybe_instant(row[5]),
        retry_at=maybe_instant(row[6]),
        probe_until=maybe_instant(row[7]),
    )


def _write(connection: Connection, whose: dict[str, str], health: Health) -> None:
    told = {
        "status": health.status,
        "failures": health.failures,
        "last_error_code": health.last_error_code,
        "last_checked_at": health.last_checked_at,
        "closed_at": health.closed_at,
        "retry_at": health.retry_at,
        "probe_until": health.probe_until,
    }
    connection.execute(_WRITE, whose | told)


def waits_for_probe(
    connection: Connection, tenant_id: str, provider: str, patience: Patience = PATIENCE
) -> Instant | None:
    """Return until when a purchase waits for the one that tries; None: it may go.

    While the gate is half open, whoever is let through is the one that tries.
    """
    whose = {"tenant_id": tenant_id, "provider": provider}
    if not connection.execute(_IS_CLOSED, whose).rowcount:
        return None
    with transaction(connection):
        now, health = _locked(connection, whose)
        if health.retry_at is None:
            return None
        if not may_probe(health, now):
            return max(health.probe_until or health.retry_at, health.retry_at)
        _write(connection, whose, replace(health, probe_until=now + patience.probe_for))
        return None


class HealthKeeper:
    """Writes down answers for one process."""

    def __init__(self, connections: Connections, patience: Patience = PATIENCE) -> None:
        """Write over these connections; nothing runs before the first answer."""
        self._connections = connections
        self._patience = patience
        self._told: SimpleQueue[Told] = SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._left = 0
        self._idle = threading.Condition(self._lock)

    def tell(self, told: Told) -> None:
        """Have an answer written down soon; never waits, never raises."""
        if told.sign is Sign.NOTHING:
            return
        with self._lock:
            self._left += 1
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._keep, name="health", daemon=True
                )
                self._thread.start()
        self._told.put(told)

    def wait_written(self, within_s: float = 30.0) -> bool:
        """Return whether all that was told has been dealt with in time."""
        with self._idle:
            return self._idle.wait_for(lambda: self._left == 0, within_s)

    def _keep(self) -> None:
        while True:
            told = self._told.get()
            try:
                self._written(told)
            except (DatabaseUnavailableError, psycopg.Error) as error:
                emit(
                    "health not kept",
                    provider=told.provider,
                    error=type(error).__name__,
                )
            with self._idle:
                self._left -= 1
                self._idle.notify_all()

    def _written(self, told: Told) -> None:
        with self._connections.connection() as connection, transaction(connection):
            before, after = judge(connection, told, self._patience)
        tell_gate(told.provider, before, after)


def tell_gate(provider: str, before: Health, after: Health) -> None:
    """Tell the log that a gate was closed, stays so, or is open again."""
    if after.retry_at is not None and after.retry_at != before.retry_at:
        emit(
            "provider gate closed",
            provider=provider,
            code=after.last_error_code or "",
            failures=after.failures,
            until=str(after.retry_at),
        )
    elif after.retry_at is None and before.retry_at is not None:
        emit("provider gate open", provider=provider)
