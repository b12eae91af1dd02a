"""What is equal for every system in a run, so that the systems are what differs."""

from dataclasses import dataclass
from typing import Final

JOBS_PER_SECOND: Final = 200.0
"""The producer's pace: below what the slowest system handles by itself."""
HANDLER_SECONDS: Final = 0.02
"""How long a job runs: at the pace, two jobs are in flight in each worker."""
AT_ONCE: Final = 16
"""Handlers at once in one process, so that one alone could keep the pace."""

LEASE_SECONDS: Final = 5
"""How long a silent worker keeps its jobs, where a system can be told."""
BEAT_SECONDS: Final = 1.0
"""How often a worker says that it lives, where it does."""
RESCUE_SECONDS: Final = 1.0
"""How often jobs of silent workers are looked for, where they are."""

SUPERVISOR_SECONDS: Final = 1.0
"""A worker that ended is started again after so long, whatever ended it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spans:
    """How long the parts of a scenario last, in seconds."""

    before: float = 3.0
    after_restart: float = 5.0
    after_kill: float = 8.0
    idle: float = 4.0
    after_idle: float = 1.0
    patience: float = 6.0
    """How long open jobs are waited for when everything else is over."""


FULL: Final = Spans()
QUICK: Final = Spans(
    before=1.5, after_restart=3.0, after_kill=8.0, idle=2.0, after_idle=1.0
)
