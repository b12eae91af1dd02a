"""The thread that listens, over a connection of its own.

connect ──► LISTEN ──► say hello through the worker's own pool ──► heard? ──► wait
   ▲                                                                           │
   └────────────────────────── connection lost ◄───────────────────────────────┘

The hello proves the address: a pooler or another database would listen for ever
and hear nothing.  Until it comes back no sign is said, and the worker polls.
"""

import os
import selectors
import threading
import uuid
from collections.abc import Iterable
from typing import Final

from infrastructure.errors import DatabaseUnavailableError
from infrastructure.postgres.database import (
    Connection,
    Database,
    unavailable_in_our_words,
)
from infrastructure.processor.notices.heard import Notices
from infrastructure.telemetry import emit

_LISTEN: Final = "LISTEN counterfoil_due"
_HELLO: Final = "SELECT pg_notify('counterfoil_due', %(hello)s)"

_HELLO_SECONDS: Final = 5.0
"""An address over which a hello is not heard for so long is told of."""

_PAUSE_SECONDS: Final = 0.25
_STOP_SECONDS: Final = 1.0
"""A thread that is just connecting is left to end with its process."""


class Listener:
    """Hears notices and passes them on; reconnects for as long as it runs."""

    def __init__(
        self,
        database: Database,
        listen_url: str,
        queues: Iterable[str],
        notices: Notices,
    ) -> None:
        """Listen at `listen_url`, which leads to `database` without a pooler."""
        self._database = database
        self._direct = Database(
            listen_url, pool_size=1, application_name="counterfoil notices"
        )
        self._queues = frozenset(queues)
        self._notices = notices
        self._hello = f"hello:{uuid.uuid4()}"  # no queue's name holds a colon
        self.hello_seconds: float = _HELLO_SECONDS
        self._stop = threading.Event()
        self._stop_reader = self._stop_writer = -1
        """A pipe that ends the wait when its writing end is closed."""
        self._thread = threading.Thread(target=self._loop, name="notices", daemon=True)

    def start(self) -> None:
        """Begin listening."""
        self._stop_reader, self._stop_writer = os.pipe()
        self._thread.start()

    def stop(self) -> None:
        """Stop listening, at once."""
        self._stop.set()
        os.close(self._stop_writer)
        self._thread.join(_STOP_SECONDS)

    def _loop(self) -> None:
        while not self._stop.is_set():
            try:
                self._connected()
            except DatabaseUnavailableError as error:
                emit("notices lost the database", error=str(error))
            except Exception as error:  # noqa: BLE001 - the job runner: without notices it still polls
                emit("notices failed", error=type(error).__name__)
            self._stop.wait(_PAUSE_SECONDS)
        os.close(self._stop_reader)

    def _connected(self) -> None:
        connection = self._direct.connect_with_backoff(self._stop)
        if connection is None:
            return
        try:
            with connection, unavailable_in_our_words():
                self._hear(connection)
        finally:
            self._notices.set_heard(False)

    def _hear(self, connection: Connection) -> None:
        connection.execute(_LISTEN)
        with self._database.connection() as other:
            other.execute(_HELLO, {"hello": self._hello})
        patience: float | None = self.hello_seconds
        with selectors.DefaultSelector() as selector:
            selector.register(connection.fileno(), selectors.EVENT_READ)
            selector.register(self._stop_reader, selectors.EVENT_READ)
            while not self._stop.is_set():
                if not selector.select(patience) and not self._notices.are_heard:
                    emit("notices unheard", seconds=self.hello_seconds)
                    patience = None
                for notice in connection.notifies(timeout=0):
                    self._pass_on(notice.payload)
                if self._notices.are_heard:
                    patience = None

    def _pass_on(self, payload: str) -> None:
        if payload in self._queues:
            self._notices.tell(payload)
        elif payload == self._hello:
            self._notices.set_heard(True)
            emit("notices heard")
