"""The figure of all pending jobs: one of the workers counts it about once a second.

Intake reads it without a lock.  Without a worker nobody counts, the figure expires,
and intake counts by itself whatever it cannot rule out (migrations/0016_limits.sql).
"""

import threading
from typing import Final

from infrastructure.errors import DatabaseUnavailableError
from infrastructure.postgres.batch_store import Connections
from infrastructure.telemetry import emit

COUNT_SECONDS: Final = 1.0
_PATIENCE_SECONDS: Final = 1.0

# The horizon is to be fetched before the snapshot of the count, whatever the role's
# own isolation is.
_ISOLATION: Final = "SET TRANSACTION ISOLATION LEVEL READ COMMITTED"
_COUNT: Final = "SELECT counterfoil.refresh_pending()"


class PendingCount:
    """A thread that has the pending jobs counted, unless another worker has."""

    def __init__(
        self, connections: Connections, *, every_seconds: float = COUNT_SECONDS
    ) -> None:
        """Count over one of these connections, so often."""
        self._connections = connections
        self._every_seconds = every_seconds
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="pending", daemon=True)

    def start(self) -> None:
        """Begin to count."""
        self._thread.start()

    def stop(self) -> None:
        """Count no more; a count that a slow database holds up is not waited for."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(_PATIENCE_SECONDS)

    def round(self) -> bool:
        """Return whether it was counted here; False when another one just has.

        Raises:
            DatabaseUnavailableError: the database went away.
        """
        with self._connections.connection() as connection, connection.transaction():
            connection.execute(_ISOLATION)
            ((counted,),) = connection.execute(_COUNT).fetchall()
        return bool(counted)

    def _run(self) -> None:
        is_told = False
        while not self._stopping.wait(self._every_seconds):
            try:
                self.round()
                is_told = False
            except DatabaseUnavailableError:
                continue  # the heartbeat tells, and stops what has to stop
            except Exception as error:  # noqa: BLE001 - a fault in the count must not end the counting
                if not is_told:
                    emit("pending count failed", error=type(error).__name__)
                is_told = True
