"""Claim suspects one at a time, into slots that are free.

A process that has cells for them runs a few at once, each alone in its own; another
runs one at a time.
"""

import time
from collections.abc import Callable, Sequence
from typing import Final

from application.job_kinds import Kinds
from infrastructure.postgres.database import Connection, unavailable_in_our_words
from infrastructure.postgres.heads.table import text
from infrastructure.processor.claim import Claimer, Lane
from infrastructure.processor.claimed import ClaimedJob
from infrastructure.processor.leases import Held
from infrastructure.processor.slots import Slots

MOST_ALONE: Final = 4
"""Cells of one process at once: each may take all the memory that there is."""

LOOK_SECONDS: Final = 1.0
"""Between two looks while no suspect is known to be due."""

_DUE: Final = """
SELECT q.name
  FROM unnest(%(queues)s::text[]) AS q(name)
 WHERE EXISTS (SELECT
                 FROM counterfoil.jobs j
                WHERE j.state = 'waiting'
                  AND j.is_suspect
                  AND j.queue = q.name
                  AND j.run_at <= counterfoil.now()
                  AND j.kind = ANY(%(kinds)s::text[]))
"""


type HandOver = Callable[[list[ClaimedJob]], list[Held]]
"""Takes claims to the threads; returns what they took."""


class SuspectLane:
    """Used by the claim loop alone."""

    def __init__(self, claimer: Claimer, slots: Slots, kinds: Kinds, most: int) -> None:
        """Claim suspects of `kinds`, of which `most` may run here at once."""
        self._claimer = claimer
        self._slots = slots
        self._kinds = tuple(sorted(kinds))
        self._most = most
        self._running: list[Held] = []
        self._looked_at = float("-inf")
        self._more_due = False
        self.in_vain: set[str] = set()
        """Queues of which a suspect found no free slot: the next one is kept for it."""

    def claim(self, connection: Connection, hand_over: HandOver) -> int:
        """Return how many suspects were claimed and handed over: one, or none.

        Raises:
            ClaimInDoubtError: see `Claimer.scan`.
            DatabaseUnavailableError: nothing was claimed.
        """
        self._running = [it for it in self._running if not (it.is_ended or it.is_lost)]
        now = time.monotonic()
        is_time = self._more_due or now - self._looked_at >= LOOK_SECONDS
        if not is_time or len(self._running) >= self._most:
            return 0
        self._looked_at = now
        due = self._due(connection)
        for queue in self.in_vain.difference(due):
            self._slots.unreserve(queue)
        self.in_vain.intersection_update(due)
        holds = self._claimer.holds
        for queue in due:
            if holds.bars(queue):
                continue
            held = self._claim(connection, queue, now, hand_over)
            if held:
                self._running += held
                self._more_due = True
                return len(held)
        # No slot was free, another process was faster, or all their keys are held.  In
        # a queue with a limit the others are quick to take what room there is.
        self._more_due = bool(self.in_vain) or any(map(holds.is_limited, due))
        return 0

    def _due(self, connection: Connection) -> list[str]:
        asked = {"queues": self._slots.queues, "kinds": list(self._kinds)}
        with unavailable_in_our_words():
            rows = connection.execute(_DUE, asked, prepare=True).fetchall()
        return [text(row[0]) for row in rows]

    def _claim(
        self, connection: Connection, queue: str, now: float, hand_over: HandOver
    ) -> Sequence[Held]:
        if self._slots.reserve(queue) == 0:
            self.in_vain.add(queue)
            return ()
        self.in_vain.discard(queue)
        try:
            lane = Lane(queue, self._kinds)
            return hand_over(self._claimer.suspect(connection, lane, now))
        finally:
            self._slots.unreserve(queue)
