"""Ports: rows that people change, each change on record in its transaction."""

from collections.abc import Callable
from typing import Protocol

import msgspec

from application.unit import Once
from domain.event import Instant, Meta
from domain.operators.events import ActionTaken
from domain.queues.queue import Queue
from domain.queues.worker import Worker

type Decide[S] = Callable[[S, Instant], tuple[S, ActionTaken]]
"""What becomes of a locked row, and the record of it; refuses by raising."""


class Changed[S](msgspec.Struct, frozen=True, kw_only=True):
    """What a row is after a change, or was already."""

    after: S
    position: int
    """Of the record: a reader at it sees the change."""


class QueueRows(Protocol):
    """Changes the row of a queue, alone with it and with its claims."""

    def change(
        self, name: str, decide: Decide[Queue], meta: Meta, once: Once | None = None
    ) -> Changed[Queue] | None:
        """Return what was done, committed; None: there is no such queue.

        No claim of that queue that does not know of it is made after the answer.

        Raises:
            AnsweredBeforeError: the request of that key was carried out before.
            CounterfoilError: what `decide` raised; nothing is written.
            DatabaseUnavailableError: nothing is known to be done.
        """
        ...


class WorkerRows(Protocol):
    """Changes the row of a worker process."""

    def change(
        self, boot: str, decide: Decide[Worker], meta: Meta, once: Once | None = None
    ) -> Changed[Worker] | None:
        """Return what was done, committed; None: there is no such process.

        Raises:
            AnsweredBeforeError: the request of that key was carried out before.
            CounterfoilError: what `decide` raised; nothing is written.
            DatabaseUnavailableError: nothing is known to be done.
        """
        ...
