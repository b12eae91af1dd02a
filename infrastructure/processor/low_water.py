"""Low water: where scans for due jobs begin, so that dead rows are not walked over.

Each bound is the smallest `run_at` that the last full scan met in its priority.
What lies below (committed late, or held back by its serial key) is found by the next
full scan: once a second, and whenever a bounded one finds less than it asked for.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from infrastructure.postgres.utc import instant_sent
from infrastructure.processor.claimed import ClaimedJob

HEAD_STARTS: Final = tuple(timedelta(seconds=s) for s in (600, 300, 100, 0))
"""How much earlier than its `run_at` a job of priority 1 … 4 counts in the merge:
ageing is built in, a job of priority 4 waits at most 600 s behind fresh ones of 1."""

EPOCH: Final = datetime(2000, 1, 1, tzinfo=UTC)
"""Before every `run_at`; the table refuses an earlier one."""

_FULL_SCAN_EVERY: Final = timedelta(seconds=1)


@dataclass(slots=True)
class LowWater:
    """The bounds of one claimer for some kinds of one queue."""

    lows: list[datetime]
    full_at: float | None = None
    """When everything was last scanned; None: the next scan has to."""

    def bounds(self, at: float) -> list[datetime]:
        """Return the bound of each priority; the epoch when a full scan is due."""
        age = None if self.full_at is None else at - self.full_at
        is_due = age is None or age >= _FULL_SCAN_EVERY.total_seconds()
        return [EPOCH] * len(HEAD_STARTS) if is_due else self.lows


def lows_of(jobs: Sequence[ClaimedJob]) -> list[datetime]:
    """Return each priority's bound: the earliest row that a full scan met."""
    earliest: dict[int, bytes] = {}
    for job in jobs:
        earliest[job.priority] = min(earliest.get(job.priority, job.due), job.due)
    return [
        instant_sent(earliest[priority]) if priority in earliest else EPOCH
        for priority in range(1, len(HEAD_STARTS) + 1)
    ]
