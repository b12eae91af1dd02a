"""A worker process: its threads, and the order in which they start and stop.

stop: not ready → no more claims → buffered jobs given back untouched → handlers
get the grace → those that never asked a provider are given back, the others'
leases are left to end → settle → stop heartbeats.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from application.job_kinds import HEARTBEAT_SECONDS, Kinds
from application.roles import JOBS
from domain.jobs.verdict import Ending
from infrastructure.errors import DatabaseUnavailableError
from infrastructure.postgres.batch_store import BatchStore
from infrastructure.postgres.database import Database
from infrastructure.processor.beating import Heartbeat
from infrastructure.processor.claiming import POLL_SECONDS, ClaimLoop, Parts
from infrastructure.processor.gates.unparking import Unparker
from infrastructure.processor.identity import actor_of, this_process
from infrastructure.processor.leases import Held, Leases
from infrastructure.processor.notices.listener import Listener
from infrastructure.processor.notices.sign import LASTS_SECONDS
from infrastructure.processor.pending import PendingCount
from infrastructure.processor.rescue import Rescuer
from infrastructure.processor.running import run
from infrastructure.processor.senders.proof import Undertaker
from infrastructure.processor.settler import Settler
from infrastructure.processor.slots import Slots
from infrastructure.processor.suspects.cells import Cells
from infrastructure.processor.suspects.lane import MOST_ALONE
from infrastructure.processor.suspects.wire import Recipe
from infrastructure.telemetry import emit
from infrastructure.telemetry.pulse import Pulse

type Round = tuple[str, Callable[[], object]]
"""What is done every few seconds, after what it is called in the log."""

RESCUE_SECONDS: Final = 5.0
_SETTLE_SECONDS: Final = 10.0
_PATIENCE_SECONDS: Final = 60.0
"""As long as a lease: after that somebody else has the job anyway."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerOptions:
    """How much a worker runs at once, and how long it may finish."""

    queues: dict[str, int]
    roles: Sequence[str] = (JOBS,)
    """What the process does besides, for those who list workers."""
    max_concurrent: int | None = None
    grace_seconds: float = 25.0
    rescue_seconds: float = RESCUE_SECONDS
    heartbeat_seconds: float = HEARTBEAT_SECONDS
    """At most what leases were checked against when kinds were registered."""
    listen_url: str | None = None
    """Where notices are listened to, past any pooler; None: the worker only polls."""
    poll_seconds: tuple[float, float, float] = POLL_SECONDS
    idle_sign_seconds: float = LASTS_SECONDS
    """How long a process that is not heard of any more counts as idle."""
    suspects: Recipe | None = None
    """How another process makes the kinds of this one, to run suspects in processes of
    their own; None: they run here, one at a time."""


class Worker:
    """Claims, runs and settles jobs until it is stopped."""

    def __init__(
        self,
        database: Database,
        kinds: Kinds,
        options: WorkerOptions,
        rounds: Sequence[Round] = (),
    ) -> None:
        """Prepare the threads; nothing runs before `start`.

        `rounds` are done every few seconds, beside the rescue.
        """
        self._rounds = rounds
        self.owner = this_process()
        self._options = options
        actor = actor_of(self.owner)
        self._leases = Leases()
        self._slots = Slots(options.queues, options.max_concurrent)
        self._units = BatchStore(database, patience_seconds=_PATIENCE_SECONDS)
        self._settler = Settler(
            database, self._units, self._leases, actor, self._slots.poke
        )
        self._settler.boot = self.owner.boot
        self._heartbeat = self._heartbeat_of(database, kinds)
        self._cells = self._cells_of(options.suspects)
        self._claims = self._claims_of(database, kinds)
        self._listener = self._listener_of(database)
        self._rescuer = Rescuer(database, self._units, kinds, actor)
        self._unparker = Unparker(database, self._units, actor)
        self._undertaker = Undertaker(database, self._units, actor)
        self._pending = PendingCount(database)
        self._stopping = threading.Event()
        self._threads = [
            threading.Thread(
                target=self._handle, args=(queue,), name=f"{queue}-{n}", daemon=True
            )
            for queue, limit in options.queues.items()
            for n in range(limit)
        ]
        self._rescue = threading.Thread(
            target=self._rescuing, name="rescue", daemon=True
        )

    def _heartbeat_of(self, database: Database, kinds: Kinds) -> Heartbeat:
        beats = Heartbeat(database, self.owner, kinds, self._leases, self._settler)
        beats.every_seconds = self._options.heartbeat_seconds
        beats.roles = self._options.roles
        beats.lingering = self._slots.lingering
        return beats

    def _cells_of(self, recipe: Recipe | None) -> Cells | None:
        return None if recipe is None else Cells(recipe, self._leases)

    def _claims_of(self, database: Database, kinds: Kinds) -> ClaimLoop:
        most_alone = 1 if self._cells is None else MOST_ALONE
        parts = Parts(self._leases, self._slots, self._settler, most_alone)
        claims = ClaimLoop(database, self.owner, kinds, parts)
        claims.poll_seconds = self._options.poll_seconds
        claims.sign.lasts_seconds = self._options.idle_sign_seconds
        return claims

    def _listener_of(self, database: Database) -> Listener | None:
        url = self._options.listen_url
        if url is None:
            return None
        return Listener(database, url, self._options.queues, self._claims.notices)

    def start(self) -> None:
        """Begin; claims start once the first heartbeat is answered."""
        self._settler.start()
        self._heartbeat.start()
        for thread in self._threads:
            thread.start()
        self._rescue.start()
        self._pending.start()
        self._claims.start()
        if self._listener is not None:
            self._listener.start()
        emit("worker started", boot=str(self.owner.boot))

    def is_ready(self) -> bool:
        """Whether claims are made and the database answers."""
        answers = self._heartbeat.is_recent() and self._claims.is_connected
        return answers and not self._stopping.is_set()

    @property
    def pulses(self) -> Sequence[Pulse]:
        """The loops without which nothing is claimed, settled or kept."""
        return (self._claims.pulse, self._settler.pulse, self._heartbeat.pulse)

    def stop(self) -> None:
        """Stop politely; returns when everything that can be settled is."""
        self._stopping.set()
        emit("worker stopping")
        self._claims.stop()
        self._pending.stop()
        if self._listener is not None:
            self._listener.stop()
        for held in self._slots.close():
            self._settler.give_back(held, "shutdown")
        if not self._leases.wait_empty(self._options.grace_seconds):
            self._give_back_the_rest()
        self._settler.stop(_SETTLE_SECONDS)
        self._heartbeat.stop()
        if self._cells is not None:
            self._cells.close()
        emit("worker stopped")

    def _give_back_the_rest(self) -> None:
        for held in self._leases.all():
            if not self._settler.give_back(held, "shutdown") and not held.is_ended:
                emit("lease left to end", job=str(held.job.id), token=held.job.token)

    def _handle(self, queue: str) -> None:
        while (held := self._slots.take(queue)) is not None:
            try:
                ending = self._run(held)
                held.has_returned = True
                is_first = self._settler.put(held, ending)
            finally:
                self._slots.give_back(queue, held)
            if not is_first:
                self._settler.testify(held, ending)
            if not is_first and held.begun_at is not None:
                self._tell_late(held, self._leases.now() - held.begun_at)

    def _run(self, held: Held) -> Ending:
        if held.is_alone and self._cells is not None:
            return self._cells.run(held)
        return run(held, self._leases)

    def _tell_late(self, held: Held, seconds: float) -> None:
        """Tell that a handler returned whose run had been ended by others."""
        emit(
            "slot free again",
            job=str(held.job.id),
            kind=held.job.kind,
            queue=held.job.queue,
            after_seconds=round(seconds, 1),
        )

    def _rescuing(self) -> None:
        rounds: tuple[Round, ...] = (
            ("rescue", self._rescuer.round),
            ("unparking", self._unparker.round),
            ("proof of ends", self._undertaker.round),
            *self._rounds,
        )
        while not self._stopping.wait(self._options.rescue_seconds):
            for what, once in rounds:
                try:
                    once()
                except DatabaseUnavailableError as error:
                    emit(f"{what} waits for the database", error=str(error))
                except Exception as error:  # noqa: BLE001 - the job runner: one row that cannot be read must not end the rescue of the others
                    emit(f"{what} failed", error=type(error).__name__)
