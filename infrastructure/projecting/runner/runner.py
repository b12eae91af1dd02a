"""The projecting thread of a process: it leads projections and carries them forward.

    connect ──► stand ──► a batch of each in turn ──► (no more) wait, look once for all
       ▲          ▲                │                                    │
       │          └── 3 s later ◄──┴────────────────────────────────────┘
       └── database lost: pauses double up to a second

Whoever stands finds what is free; so whichever process is there first leads all, and
the others look every few seconds whether it is still heard of.
"""

import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import psycopg

from domain.jobs.events import Owner
from infrastructure.errors import DatabaseUnavailableError, where
from infrastructure.leadership import STAND_SECONDS, TTL_SECONDS, Leadership
from infrastructure.postgres.database import (
    Connection,
    Database,
    unavailable_in_our_words,
)
from infrastructure.projecting.projector import Projector
from infrastructure.projecting.runner.episodes import Episodes
from infrastructure.projecting.runner.rounds import BATCH, Rounds, with_roles
from infrastructure.telemetry import emit
from infrastructure.telemetry.pulse import Pulse
from projections.read_models.all import ALL, AnyProjection

IDLE_SECONDS: Final = 0.05
"""What an idle projection may lag; one look for all of them costs 0.2 ms."""

BESIDE_JOBS: Final = 1.0
"""The rest of a process that runs jobs too; see `RunnerOptions.rest`."""

_STOP_SECONDS: Final = 10.0
"""A batch waits for a lock 2 s at most; nothing more is waited for."""

_LONGEST_REST_SECONDS: Final = 0.25
"""A batch that waited for a lock does not let the others wait as long again."""

_FIRST_PAUSE_SECONDS: Final = 0.05
_LONGEST_PAUSE_SECONDS: Final = 1.0
_RACES: Final = (
    psycopg.errors.LockNotAvailable,
    psycopg.errors.DeadlockDetected,
    psycopg.errors.SerializationFailure,
)
_EVERYTHING: Final = "(all)"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerOptions:
    """What is carried forward, and how eagerly."""

    projections: Sequence[AnyProjection] = ALL
    batch: int = BATCH
    rest: float = 0.0
    """How long it rests after a batch, in times of what the batch took: so it leaves
    the interpreter to the other threads of its process."""
    idle_seconds: float = IDLE_SECONDS
    ttl_seconds: float = TTL_SECONDS
    stand_seconds: float = STAND_SECONDS


class ProjectionRunner:
    """Leads projections and carries them forward until it is stopped."""

    def __init__(
        self,
        database: Database,
        projector: Projector,
        owner: Owner,
        options: RunnerOptions | None = None,
    ) -> None:
        """Prepare the thread; nothing runs before `start`."""
        self._database = database
        self._projector = projector
        self._options = options = options or RunnerOptions()
        self._leadership = Leadership(owner, ttl_seconds=options.ttl_seconds)
        by_name = {each.name: each for each in options.projections}
        self._roles = with_roles(sorted(by_name))
        self._rounds = Rounds(projector, by_name, batch=options.batch)
        self._episodes = Episodes()
        self._told: Mapping[str, int] = {}
        """The roles that are held, as it was last told."""
        self._pause = _FIRST_PAUSE_SECONDS
        """Before it connects anew: a pooler may answer while its server does not."""
        self._stop = threading.Event()
        self.pulse = Pulse("projections")
        self._thread = threading.Thread(
            target=self._run, name="projections", daemon=True
        )

    def start(self) -> None:
        """Begin."""
        emit("projecting started")
        self._thread.start()

    def is_ready(self) -> bool:
        """Whether the database answered lately when it stood for its roles."""
        is_recent = self._leadership.seconds_since < self._options.ttl_seconds
        return is_recent and not self._stop.is_set()

    def ask_to_stop(self) -> None:
        """Let it end after its present batch; returns at once."""
        self._stop.set()

    def stop(self) -> None:
        """Return when it has stopped and given back what it leads.

        It is not waited for longer than that may take: then its roles run out.
        """
        self._stop.set()
        self._thread.join(_STOP_SECONDS)
        self.pulse.end()
        emit(
            "projecting left to end"
            if self._thread.is_alive()
            else "projecting stopped"
        )

    def _run(self) -> None:
        while not self._stop.is_set():
            self.pulse.beat()
            try:
                connection = self._database.connect_with_backoff(self._stop)
                if connection is not None:
                    with connection:
                        self._lead(connection)
            except DatabaseUnavailableError as error:
                emit("projecting lost the database", error=str(error))
                self._wait_longer()
            except Exception as error:  # noqa: BLE001 - the projector loop: without it nothing is projected here any more
                self._episodes.tell(
                    _EVERYTHING, "projecting failed", error=where(error)
                )
                self._wait_longer()

    def _wait_longer(self) -> None:
        self._stop.wait(self._pause)
        self._pause = min(self._pause * 2, _LONGEST_PAUSE_SECONDS)

    def _lead(self, connection: Connection) -> None:
        """Carry forward what is led, until it is time to stop or to connect anew."""
        self._stand(connection)
        while not self._stop.is_set():
            self.pulse.beat()
            since = self._leadership.seconds_since
            if since >= self._options.ttl_seconds:
                return  # a connection from before a freeze is not used after it
            if since >= self._options.stand_seconds:
                self._stand(connection)
            began_at = time.monotonic()
            if not self._leadership.held:
                self._stop.wait(self._options.stand_seconds)
            elif self._round(connection):
                took = time.monotonic() - began_at
                rest = min(took * self._options.rest, _LONGEST_REST_SECONDS)
                self._stop.wait(rest)
            else:
                self._stop.wait(self._options.idle_seconds)
        self._give_back(connection)

    def _stand(self, connection: Connection) -> None:
        # A race lost leaves what is held as it is, for a while; it stands again soon.
        with suppress(*_RACES):
            self._leadership.stand(connection, self._wanted())
        self._pause = _FIRST_PAUSE_SECONDS
        self._tell()

    def _wanted(self) -> list[str]:
        """Return the roles of those that this code can carry forward."""
        return [
            role
            for role, name in self._roles.items()
            if not self._rounds.is_shunned(name)
        ]

    def _round(self, connection: Connection) -> bool:
        """Return whether there is more to do, after a batch of each that is led."""
        until = self._projector.horizon.current()
        is_more = False
        for role in sorted(self._leadership.held):
            if self._stop.is_set() or role not in self._leadership.held:
                break
            if self._leadership.seconds_since >= self._options.stand_seconds:
                self._stand(connection)
            name = self._roles[role]
            is_more |= self._rounds.carry(name, until, lambda: _probe(connection))
            if self._rounds.is_shunned(name):
                self._leadership.release(connection, [role])
                self._tell()
        return is_more

    def _give_back(self, connection: Connection) -> None:
        self._leadership.release(connection)
        self._tell()

    def _tell(self) -> None:
        """Tell which projections are led from now on, and which no more."""
        held = self._leadership.held
        for role in sorted(self._told.keys() - held.keys()):
            emit("projection left", projection=self._roles[role])
        for role, term in sorted(held.items()):
            if self._told.get(role) != term:
                emit("projection led", projection=self._roles[role], term=term)
        self._told = held
        self._episodes.end(_EVERYTHING)


def _probe(connection: Connection) -> None:
    """Raise when the database is away, for everybody."""
    with unavailable_in_our_words():
        connection.execute("SELECT 1")
