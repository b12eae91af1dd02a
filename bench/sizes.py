"""How much one run measures."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """The numbers of a run; a figure depends on them, so they are reported."""

    rounds: int
    drained_jobs: int
    """Per drain; a drain that lasts less than 3 s flatters."""
    singles: int
    """Transactions per variant and round."""
    bulks: int
    """Transactions per variant and round."""
    bulk_jobs: int
    """Jobs in each of those."""
    pickups: int
    """Samples per round of a worker that worked within the last second."""
    idle_workers: int
    """Workers that are sampled side by side after more than two idle seconds."""
    idle_pickups: int
    """Samples per round and idle worker."""
    orders: int
    """Orders fulfilled per round."""
    projected_events: int = 1_000_000
    """In the log from which read models are rebuilt."""


FULL: Final = Sizes(
    rounds=5,
    drained_jobs=40_000,
    singles=400,
    bulks=12,
    bulk_jobs=1_000,
    pickups=120,
    idle_workers=6,
    idle_pickups=3,
    orders=400,
)
QUICK: Final = Sizes(
    rounds=2,
    drained_jobs=2_000,
    singles=40,
    bulks=2,
    bulk_jobs=250,
    pickups=25,
    idle_workers=2,
    idle_pickups=1,
    orders=30,
    projected_events=50_000,
)
"""For a look: the figures say little."""
