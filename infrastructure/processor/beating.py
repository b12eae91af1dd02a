"""The heartbeat thread: confirms leases, watches deadlines, notices freezes.

It has a connection of its own, so that a busy pool can never cost a lease.
"""

import threading
from typing import TYPE_CHECKING, Final

from application.job_kinds import HEARTBEAT_SECONDS, Kinds
from application.roles import JOBS
from domain.jobs.events import Owner
from infrastructure.errors import DatabaseUnavailableError
from infrastructure.postgres.database import Connection, Database, connect
from infrastructure.processor.clock import ClockWatch
from infrastructure.processor.heartbeat import beat, deregister, register
from infrastructure.processor.leases import Leases
from infrastructure.processor.running import TIMED_OUT
from infrastructure.processor.settler import Settler
from infrastructure.telemetry import emit, measure
from infrastructure.telemetry.measures import LeaseLost
from infrastructure.telemetry.pulse import Pulse

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from uuid import UUID

_TICK_SECONDS: Final = 0.5
_MISSED: Final = 3
"""After so many intervals without an answer the process is not ready."""

_FROZEN_SECONDS: Final = 5.0
"""A tick that took this much longer than asked was a freeze of the process."""


class Heartbeat:
    """One thread per process."""

    def __init__(
        self,
        database: Database,
        owner: Owner,
        kinds: Kinds,
        leases: Leases,
        settler: Settler,
    ) -> None:
        """Beat for `owner` and what `leases` holds."""
        self._database = database
        self._owner = owner
        self._kinds = kinds
        self._leases = leases
        self._settler = settler
        self.every_seconds: float = HEARTBEAT_SECONDS
        self.roles: Sequence[str] = (JOBS,)
        """What this process does, as others are told."""
        self.lingering: Callable[[], Sequence[UUID]] = tuple
        """Returns jobs whose handler runs on although its run is over."""
        self._told: Sequence[UUID] | None = ()
        """Those that the others know of; None: of the ones that come to be now."""
        self._stop = threading.Event()
        self._thread = threading.Thread(
            target=self._loop, name="heartbeat", daemon=True
        )
        self._ticked_at = leases.now()
        self._beat_at = leases.now()
        self._was_frozen = False
        self._clock = ClockWatch()
        self.pulse = Pulse("heartbeat")

    def is_recent(self) -> bool:
        """Whether a heartbeat was answered lately; one that hangs is no answer."""
        age = self._leases.now() - self._beat_at
        return self._leases.are_kept.is_set() and age < _MISSED * self.every_seconds

    def start(self) -> None:
        """Begin beating."""
        self._thread.start()

    def stop(self) -> None:
        """Stop beating, and say that the process has stopped."""
        self._stop.set()
        self._thread.join()
        self.pulse.end()

    def _loop(self) -> None:
        while not self._stop.is_set():
            self.pulse.beat()
            connection = self._connected()
            if connection is None:
                continue
            try:
                with connection:
                    self._register(connection)
                    self._beat(connection)
                    self._clock.look(connection)
                    self._until_stopped(connection)
                    if self._stop.is_set():
                        deregister(connection, self._owner)
            except DatabaseUnavailableError as error:
                self._leases.are_kept.clear()
                emit("heartbeat lost the database", error=str(error))
            except Exception as error:  # noqa: BLE001 - the job runner: without heartbeats every lease would be lost
                # The next beat comes over a new connection, soon.
                self._leases.are_kept.clear()
                emit("heartbeat failed", error=type(error).__name__)
                self._tick(_TICK_SECONDS)

    def _connected(self) -> Connection | None:
        """Return a connection; meanwhile deadlines are still watched."""
        try:
            return connect(
                self._database.conninfo, application_name="counterfoil heartbeat"
            )
        except DatabaseUnavailableError as error:
            self._leases.are_kept.clear()
            emit("heartbeat lost the database", error=str(error))
            self._tick(_TICK_SECONDS)
            return None

    def _until_stopped(self, connection: Connection) -> None:
        while not self._tick(_TICK_SECONDS):
            if self._was_frozen:
                # A connection from before a freeze is not used after it
                # (mechanisms 23); the next one asks at once who still is ours.
                self._was_frozen = False
                self._leases.are_kept.clear()
                return
            is_due = self._leases.now() - self._beat_at >= self.every_seconds
            if is_due or self._told != self.lingering():
                self._beat(connection)
                self._clock.look(connection)

    def _register(self, connection: Connection) -> None:
        kinds, lingering = list(self._kinds), self.lingering()
        register(connection, self._owner, kinds, self.roles, lingering)

    def _beat(self, connection: Connection) -> None:
        since, lingering = self._leases.now(), self.lingering()
        held = [each for each in self._leases.all() if not each.is_lost]
        answers = beat(connection, self._owner, held, lingering)
        self._told = lingering
        for lost in self._leases.confirm(answers, since):
            emit("lease lost", job=str(lost.job.id), token=lost.job.token)
            measure(LeaseLost(lost.job.queue, "superseded"))
        self._beat_at = since
        self._leases.are_kept.set()

    def _tick(self, seconds: float) -> bool:
        """Whether it is time to stop, after a pause and a look at the deadlines."""
        stopped = self._stop.wait(seconds)
        self.pulse.beat()
        now = self._leases.now()
        if now - self._ticked_at > seconds + _FROZEN_SECONDS:
            emit("process was frozen", seconds=round(now - self._ticked_at, 1))
            self._was_frozen = True
        self._ticked_at = now
        for held in self._leases.all():
            if held.is_overdue(now) and self._settler.put(held, TIMED_OUT):
                # It may never return; until it does, its slot is taken.
                self._told = None
                emit(
                    "slot occupied",
                    job=str(held.job.id),
                    kind=held.job.kind,
                    queue=held.job.queue,
                    after_seconds=held.kind.deadline_seconds,
                )
        return stopped
