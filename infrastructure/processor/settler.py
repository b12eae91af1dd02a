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
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import psycopg

from application.unit import Group, Refused, Result, UnitOfWork, Unstorable
from domain.event import Actor
from domain.jobs.outcome import Completed, Fail, Retry
from domain.jobs.verdict import Ending, Interrupted
from domain.stream import Ref, StreamKind
from domain.text import storable
from infrastructure.errors import DatabaseUnavailableError
from infrastructure.ids import new_id
from infrastructure.postgres.batch_store import Connections
from infrastructure.processor.leases import Held, Leases
from infrastructure.processor.settling import Claimed, record_of, settlement
from infrastructure.processor.succeed import Success, succeed
from infrastructure.telemetry import emit

LARGEST_BATCH: Final = 500
_PAUSE_SECONDS: Final = 0.25


@dataclass(frozen=True, slots=True)
class Ended:
    """One run that is over, waiting to be settled."""

    held: Held
    ending: Ending


class Settler:
    """One thread that commits endings; everything it drops is told."""

    def __init__(
        self,
        connections: Connections,
        units: UnitOfWork,
        leases: Leases,
        actor: Actor,
    ) -> None:
        """Commit through `units`, plain successes straight over `connections`."""
        self._connections = connections
        self._units = units
        self._leases = leases
        self._actor = actor
        self._endings: queue.SimpleQueue[Ended | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._loop, name="settler", daemon=True)

    def start(self) -> None:
        """Begin settling."""
        self._thread.start()

    def put(self, held: Held, ending: Ending) -> None:
        """Hand over the ending of a run; the first one of a run counts."""
        if held.end():
            self._endings.put(Ended(held, ending))

    def give_back(self, held: Held, cause: str) -> bool:
        """Whether a run was given back: not once it has asked a provider."""
        mine = held.end_unless_called()
        if mine:
            self._endings.put(Ended(held, Interrupted(cause=cause)))
        return mine

    def stop(self, timeout: float) -> bool:
        """Whether everything handed over before was settled within `timeout`."""
        self._endings.put(None)
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def _loop(self) -> None:
        stopping = False
        while not stopping:
            batch: list[Ended] = []
            entry = self._endings.get()
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
                self._until_settled(batch)

    def _until_settled(self, batch: list[Ended]) -> None:
        """Settle, over a database that may be away for a while.

        What may have been committed is safe to settle again: the token misses.
        """
        while True:
            try:
                self.settle(batch)
            except DatabaseUnavailableError as error:
                emit("settle waits for the database", jobs=len(batch), error=str(error))
                threading.Event().wait(_PAUSE_SECONDS)
            else:
                return

    def settle(self, batch: Sequence[Ended]) -> None:
        """Settle one batch now; used by the loop and by tests."""
        rest = self._succeed(batch)
        again: list[Ended] = []
        if rest:
            results = self._units.commit([self._group(each) for each in rest])
            for ended, result in zip(rest, results, strict=True):
                replacement = self._told(ended, result)
                if replacement is not None:
                    again.append(Ended(ended.held, replacement))
        self._leases.drop(
            each.held for each in batch if all(each.held is not a.held for a in again)
        )
        if again:
            self.settle(again)

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
        ids = [new_id() for _ in range(len(successes) + 1)]
        try:
            with self._connections.connection() as connection:
                done = succeed(connection, successes, self._actor, ids)
        except (psycopg.Error, UnicodeEncodeError):
            # One result cannot be stored: the batch store finds out which.
            return list(batch)
        for each in plain:
            if each.held.job.id in done:
                emit("job settled", job=str(each.held.job.id), ending="Completed")
        return [each for each in batch if each.held.job.id not in done]

    def _group(self, ended: Ended) -> Group:
        job = ended.held.job
        claimed = Claimed(
            ref=Ref(StreamKind.JOB, job.id),
            token=job.token,
            kind=ended.held.kind,
            record=record_of(ended.held.kind, job.args),
            correlation_id=job.correlation_id,
            called_provider=ended.held.called_provider,
        )
        return settlement(claimed, ended.ending, self._actor)

    def _told(self, ended: Ended, result: Result) -> Ending | None:
        """Tell what became of an ending; return another one to settle instead."""
        job = str(ended.held.job.id)
        match result:
            case Unstorable() if isinstance(ended.ending, Fail):
                emit("job unsettled", job=job, error=storable(result.error))
                return None
            case Unstorable():
                emit("result unstorable", job=job, error=storable(result.error))
                return Fail(code="unstorable_result", error=storable(result.error))
            case Refused(code="lease_lost"):
                emit("lease lost", job=job, token=ended.held.job.token)
                return None
            case Refused() if isinstance(ended.ending, Retry):
                emit("job unsettled", job=job, error=result.code)
                return None
            case Refused():
                emit("settle refused", job=job, code=result.code)
                return Retry(code="conflict", error=result.code)
            case _:
                emit("job settled", job=job, ending=type(ended.ending).__name__)
                return None


def _is_plain(ended: Ended) -> bool:
    return (
        isinstance(ended.ending, Completed)
        and not ended.ending.changes
        and ended.held.kind.record is None
    )
