"""What making a read model anew, or comparing it with a fold, has come to."""

from collections.abc import Callable
from typing import Literal

import msgspec

type Work = Literal["rebuild", "verify"]

type Phase = Literal["waiting", "folding", "tidying", "promoting", "comparing"]


class Progress(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How far a build is; positions of the log, in which there may be gaps."""

    projection: str
    work: Work
    phase: Phase
    done: int
    """The position up to which it has folded."""
    total: int
    """The position that it will end at, as far as is known now."""
    per_second: float
    """Positions folded per second, of late; 0 before that is known."""

    @property
    def seconds_left(self) -> float | None:
        """How long the rest will take at this pace; None: nobody knows."""
        left = max(self.total - self.done, 0)
        return left / self.per_second if self.per_second > 0 else None


type Tell = Callable[[Progress], None]


class Rebuilt(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A read model that was made anew and is read from now on."""

    projection: str
    schema: int
    """The number of the code that made it."""
    began: str
    """Where it began: `anew`, or `resumed`."""
    began_because: str
    """Why it began there, in a person's words."""
    from_position: int
    """The position that it began behind; 0 unless it was resumed."""
    position: int
    """The position that it had when it was promoted."""
    live_before: int
    """The position of the rows that were read until then; never above `position`."""
    events: int
    """Events that were folded by this command."""
    set_aside: int
    """Events that could not be folded, with those behind them in their streams."""
    seconds: float
    per_second: float
    """Positions of the log per second."""
    promoted_at: int
    """The position of the event that says so."""
    is_paused: bool
    """It was paused, and is: nothing follows the log until it is resumed."""
    is_emptied: bool
    """False: somebody's old snapshot may still read the old rows, so they stay until
    the next build."""


class Abandoned(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A build that was dropped."""

    projection: str
    work: Work | None
    """What was dropped; None: nothing was under way."""
    position: int
    """How far it was."""


class Sample(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One row that is not as a fold of the log would have it."""

    what: Literal["missing", "extra", "differing"]
    key: dict[str, str]
    columns: tuple[str, ...] = ()
    """Of a differing one: which columns; what they hold is not told."""


class Verified(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A read model beside a fold of the log up to the same position."""

    projection: str
    position: int
    rows: int
    """As the fold has them."""
    missing: int
    """Rows that the fold has and the read model has not."""
    extra: int
    """Rows that the read model has and the fold has not."""
    differing: int
    samples: tuple[Sample, ...]
    """Some of each, by their keys."""
    set_aside: int
    """Events that the read model could not fold."""
    set_aside_anew: int
    """Events that the fold could not fold either."""
    seconds: float

    @property
    def is_right(self) -> bool:
        """Whether the read model is what a fold of the log gives."""
        return not (self.missing or self.extra or self.differing)
