"""Jobs that are left out of claims for a while, because a claim of them is refused.

A row whose stream has an event that its head does not know, or that Python cannot
read, would fail every claim that meets it: one such row would starve its queue (I13).
"""

from typing import Final
from uuid import UUID

BARRED_SECONDS: Final = 300.0
"""After that a job is tried again: somebody may have repaired it."""


class Barred:
    """What one process leaves out; times are monotonic seconds."""

    def __init__(self) -> None:
        """Begin with nothing barred."""
        self._until: dict[UUID, float] = {}

    def add(self, job: UUID, at: float) -> None:
        """Leave `job` out from now on, for a while."""
        self._until[job] = at + BARRED_SECONDS

    def jobs(self, at: float) -> list[UUID]:
        """Return the jobs to leave out now."""
        for job in [job for job, until in self._until.items() if until <= at]:
            del self._until[job]
        return list(self._until)
