"""What came of an attempt to project a batch, or to try again what was set aside."""

from enum import StrEnum

import msgspec


class State(StrEnum):
    """How it ended; everything but `ADVANCED` has written nothing."""

    ADVANCED = "advanced"
    UP_TO_DATE = "up_to_date"
    """There is nothing to do, up to where it was to go or to the horizon."""
    PAUSED = "paused"
    OUTDATED = "outdated"
    """The rows were folded by other code: a rebuild ends that."""
    MOVED = "moved"
    """The slot is not the live one, or not the one of a build, any more."""
    OVERTAKEN = "overtaken"
    """Somebody else writes, or has written, the same batch."""
    BUSY = "busy"
    """A lock was not free in time: somebody swaps, pauses or repairs; later."""
    ABSENT = "absent"
    """The database does not know the projection."""


class Advanced(msgspec.Struct, frozen=True, kw_only=True):
    """One batch."""

    state: State
    slot: str
    before: int
    """The checkpoint before it."""
    position: int
    """The checkpoint after it."""
    horizon: int
    """How far the log was final, as far as this process has looked."""
    events: int = 0
    """How many were folded."""
    rows: int = 0
    """How many were written or deleted."""
    set_aside: int = 0
    """How many events were set aside."""


class Resumed(msgspec.Struct, frozen=True, kw_only=True):
    """What was tried again."""

    state: State
    tried: int = 0
    """Events that had been set aside and were tried again."""
    left: int = 0
    """Events that are set aside now."""
