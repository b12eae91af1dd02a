"""Lines: tenants with many waiting jobs, and how one claimer goes round them.

A job is born in the open or, when its tenant has many waiting in that queue already,
in its tenant's line (`counterfoil.put_in_line`).  A claim takes from the open and from
the lines by turns, and from the lines in turn, so that nobody's many jobs are before
another's few, and nobody is forgotten.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, NamedTuple

MOST: Final = 32
"""Lines that one claim looks at; the next one goes on behind them."""


class Line(NamedTuple):
    """One tenant's line in one queue, with the bounds of its scans by priority."""

    tenant: str
    lows: list[datetime]


@dataclass(slots=True)
class Lines:
    """The lines of one queue, as they were found, and whose turn it is."""

    known: list[Line] = field(default_factory=list[Line])
    are_due: bool = False
    """Whether something in them was due when they were found, and is not known to be
    taken since."""
    is_open_first: bool = True
    """Whether the next claim begins with the open, not with a line."""
    _next: int = 0

    def found(self, known: list[Line]) -> None:
        """Know these lines from now on; whose turn it is has it still."""
        first = self.in_turn()[0].tenant if self.known else None
        self.known = known
        names = [line.tenant for line in known]
        self._next = names.index(first) if first in names else self._next

    def in_turn(self) -> list[Line]:
        """Return the lines for the next claim, whose turn it is first."""
        start = self._next % max(len(self.known), 1)
        return (self.known[start:] + self.known[:start])[:MOST]

    def served(self, tenants: Iterable[str]) -> None:
        """Go on behind the last line that a claim of jobs of `tenants` came to."""
        asked = self.in_turn()
        count = Counter(tenants)
        rounds = max((count[line.tenant] for line in asked), default=0)
        last = [n for n, it in enumerate(asked, 1) if count[it.tenant] == rounds]
        if rounds > 1 and len(asked) < len(self.known):
            last = [len(asked)]  # those behind them were not even asked
        self._next = (self._next + last[-1]) % len(self.known) if asked else 0
        self.is_open_first = not self.is_open_first
