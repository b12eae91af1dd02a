"""Settle what handlers ended: batches, each job whole or not at all.

endings ──► plain successes ──► one set-based statement ──┐ fenced, cancel requested
       │                                                  ▼
       └──► everything else ──► one group a job ──► batch store
                                                    │
            unstorable: the job is discarded ◄──────┤
            conflict: the job is given back  ◄──────┤
            lease lost: nothing is written   ◄──────┘
"""

import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import psycopg

from application.goods.late import testimonies
from application.unit import Group, Refused, Result, UnitOfWork, Unstorable
from domain.event import Actor, Causation, Meta
from domain.jobs.outcome import Completed, Fail, Retry
from domain.jobs.verdict import Ending, Interrupted
from domain.stream import Ref, StreamKind
from domain.text import storable
from infrastructure.errors import CommitUnknownError, DatabaseUnavailableError
from infrastructure.ids import new_id
from infrastructure.postgres.batch_store import Connections
from infrastructure.processor.figures import runs as figures
from infrastructure.processor.heartbeat import telling_what_lingers
from infrastructure.processor.leases import Held, Leases
from infrastructure.processor.settling import (
    Claimed,
    changes_of,
    record_of,
    settlement,
)
from infrastructure.processor.succeed import Stamp, Success, succeed
from infrastructure.telemetry import emit
from infrastructure.telemetry.pulse import PERIOD_SECONDS, Pulse

if TYPE_CHECKING:
    from uuid import UUID

LARGEST_BATCH: Final = 1_000
_PAUSE_SECONDS: Final = 0.25


@dataclass(slots=True)
class Ended:
    """One run that is over, waiting to be settled."""

    held: Held
    ending: Ending
    at: float = 0.0
    """When it was over, in boot time."""
    is_settled: bool = False
    """Nothing more is to be done for it, whether it was written or refused."""


class Settler:
    """One thread that commits endings; everything it drops is told."""

    def __init__(
        self,
        connections: Connections,
        units: UnitOfWork,
        leases: Leases,
        actor: Actor,
        settled: Callable[[], None] = lambda: None,
    ) -> None:
        """Commit through `units`, plain successes straight over `connections`.

        `settled` is told after each batch: there is room, and jobs may be due now
        that were born in it.
        """
        self._connections = connections
        self._units = units
        self._leases = leases
        self._actor = actor
        self._settled = settled
        self._in_doubt: UUID | None = None
        """Commit id of a set-based success whose answer was lost."""
        self._settling = 0
        self.boot: UUID | None = None  # of the process whose handlers may run on
        self._endings: queue.SimpleQueue[Ended | None] = queue.SimpleQueue()
        self.pulse = Pulse("settle")
        self._thread = threading.Thread(target=self._loop, name="settler", daemon=True)

    def start(self) -> None:
        """Begin settling."""
        self._thread.start()

    def put(self, held: Held, ending: Ending) -> bool:
        """Whether the ending of a run was taken: the first one of a run counts."""
        if first := held.end():
            self._endings.put(Ended(held, ending, self._leases.now()))
        return first

    def give_back(self, held: Held, cause: str, wait_seconds: float = 0.0) -> bool:
        """Whether a run was given back: not once it has asked a provider."""
        if mine := held.end_unless_called():
            back = Interrupted(cause=cause, wait_seconds=wait_seconds)
            self._endings.put(Ended(held, back, self._leases.now()))
        return mine

    def testify(self, held: Held, ending: Ending) -> None:
        """Commit what an ending that is not written still says of purchases.

        It came too late, or something else of it was refused; everything else of it
        is dropped.  See `application.goods.late`.
        """
        job = held.job
        meta = Meta(
            actor=self._actor,
            correlation_id=job.correlation_id,
            causation=Causation(job=job.id),
        )
        groups = testimonies(changes_of(ending), job.token, meta, new_id)
        try:
            results = self._units.commit(groups) if groups else []
        except DatabaseUnavailableError as error:
            emit("purchase told too late", job=str(job.id), error=str(error))
            return
        for result in results:
            told = result.code if isinstance(result, Refused) else "recorded"
            emit("purchase told late", job=str(job.id), outcome=told)

    def backlog(self) -> int:
        """Return how many runs are over and not settled yet, as of a moment ago."""
        return self._endings.qsize() + self._settling

    def stop(self, timeout: float) -> bool:
        """Whether everything handed over before was settled within `timeout`."""
        self._endings.put(None)
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def _loop(self) -> None:
        stopping = False
        while not stopping:
            self.pulse.beat()
            batch: list[Ended] = []
            try:
                entry = self._endings.get(timeout=PERIOD_SECONDS)
            except queue.Empty:
                continue
            while entry is not None:
                batch.append(entry)
                if len(batch) >= LARGEST_BATCH:
                    break
                try:
                    entry = self._endings.get_nowait()
                except queue.Empty:
                    break
            stopping = entry is None
            if batch:
                self._settling = len(batch)
                self._until_settled(batch)
                self._settling = 0
                self._settled()
        self.pulse.end()

    def _until_settled(self, batch: list[Ended]) -> None:
        """Settle, over a database that may be away for a while.

        What may have been committed is safe to settle again: the token misses.
        """
        while left := [each for each in batch if not each.is_settled]:
            self.pulse.beat()
            try:
                self.settle(left)
            except DatabaseUnavailableError as error:
                emit("settle waits for the database", jobs=len(left), error=str(error))
                threading.Event().wait(_PAUSE_SECONDS)
            except Exception as error:  # noqa: BLE001 - the job runner: one ending that nobody foresaw must not end the settler
                emit("settle failed", jobs=len(left), error=type(error).__name__)
                self._one_by_one(left, error)

    def _one_by_one(self, left: Sequence[Ended], error: Exception) -> None:
        """Settle what failed together each by itself; the guilty one is dead."""
        if len(left) > 1:
            for each in left:
                self._until_settled([each])
            return
        (ended,) = left
        if _is_last_word(ended.ending):
            emit(
                "job unsettled", job=str(ended.held.job.id), error=type(error).__name__
            )
            self._drop(ended)
        else:
            told = f"{type(error).__name__} while the outcome was recorded"
            ended.ending = Fail(code="unstorable_result", error=told)

    def _drop(self, *ended: Ended) -> None:
        for each in ended:
            each.is_settled = True
        self._leases.drop([each.held for each in ended])

    def settle(self, batch: Sequence[Ended]) -> None:
        """Settle one batch now; used by the loop and by tests."""
        left = self._succeed(batch)
        while left:
            results = self._units.commit([self._group(each) for each in left])
            for ended, result in zip(left, results, strict=True):
                if (replacement := self._told(ended, result)) is None:
                    self._drop(ended)
                else:
                    ended.ending = replacement
            left = [each for each in left if not each.is_settled]

    def _succeed(self, batch: Sequence[Ended]) -> list[Ended]:
        """Succeed what is plain; return the endings that need the decider."""
        plain = [each for each in batch if _is_plain(each)]
        if not plain:
            return list(batch)
        successes = [
            Success(each.held.job.id, each.held.job.token, each.ending.result)
            for each in plain
            if isinstance(each.ending, Completed)
        ]
        in_doubt = self._in_doubt
        commit_id = in_doubt or new_id()
        try:
            with self._connections.connection() as connection:
                stamp = Stamp(self._actor, commit_id, is_in_doubt=in_doubt is not None)
                done = succeed(connection, successes, stamp)
        except CommitUnknownError:
            self._in_doubt = commit_id
            raise
        except (psycopg.Error, UnicodeEncodeError):
            # One result cannot be stored: the batch store finds out which.  There the
            # tokens tell what was committed before.
            self._in_doubt = None
            return list(batch)
        self._in_doubt = None
        settled = [each for each, was in zip(plain, done, strict=True) if was]
        self._drop(*settled)
        # One line a batch: what plainly succeeded is told job by job in the log of
        # events, and a line each would cost a worker as much as running them.
        if settled:
            emit("jobs settled", jobs=len(settled), ending="Completed")
            figures.tell_successes((each.held, each.at) for each in settled)
        return [each for each in batch if not each.is_settled]

    def _group(self, ended: Ended) -> Group:
        job = ended.held.job
        claimed = Claimed(
            ref=Ref(StreamKind.JOB, job.id),
            token=job.token,
            kind=ended.held.kind,
            record=record_of(ended.held.kind, job.args, job.unique_key),
            correlation_id=job.correlation_id,
            called_provider=ended.held.called_provider,
        )
        group = settlement(claimed, ended.ending, self._actor)
        return telling_what_lingers(group, ended.held, self.boot)

    def _told(self, ended: Ended, result: Result) -> Ending | None:
        """Tell what became of an ending; return another one to settle instead."""
        job = str(ended.held.job.id)
        match result:
            case Unstorable() if _is_last_word(ended.ending):
                emit("job unsettled", job=job, error=storable(result.error))
                return None
            case Unstorable():
                emit("result unstorable", job=job, error=storable(result.error))
                self.testify(ended.held, ended.ending)
                return Fail(code="unstorable_result", error=storable(result.error))
            case Refused(code="lease_lost"):
                emit("lease lost", job=job, token=ended.held.job.token)
                figures.tell_lost(ended.held)
                self.testify(ended.held, ended.ending)
                return None
            case Refused() if not changes_of(ended.ending):
                emit("job unsettled", job=job, error=result.code)
                return None
            case Refused():
                emit("settle refused", job=job, code=result.code)
                self.testify(ended.held, ended.ending)
                return Retry(code="conflict", error=result.code)
            case _:
                emit("job settled", job=job, ending=type(ended.ending).__name__)
                figures.tell_ending(ended.held, ended.at, ended.ending, result)
                return None


def _is_last_word(ending: Ending) -> bool:
    """Whether nothing simpler is left to be written than this ending."""
    return isinstance(ending, Fail) and not ending.changes


def _is_plain(ended: Ended) -> bool:
    return (
        isinstance(ended.ending, Completed)
        and not ended.ending.changes
        and ended.held.kind.record is None
    )
