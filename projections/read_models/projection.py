"""The shape of every projection: a fold of the log into the rows of one read model.

    row before (or None)  ──  event  ──►  row after (or None: there is none any more)

A projection is pure.  Which rows are loaded and written, in which transaction, up to
which position, belongs to whoever runs it.  Its rows live in two tables of one shape,
`counterfoil.read_<name>_a` and `…_b`: one of them is read and followed, beside it the
other is rebuilt or verified; `counterfoil.projections` says which is which.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection
from typing import ClassVar

import msgspec

from domain.event import Event
from domain.recorded import RecordedEvent

type Key = tuple[object, ...]
"""The values of a row's key columns, in their order."""


class Projection[R: msgspec.Struct](ABC):
    """One projection; instances have no state of their own."""

    name: ClassVar[str]
    """Stored: in `counterfoil.projections`, and in the names of its tables."""
    schema: ClassVar[int] = 1
    """Raised whenever the same events would give other rows: then it is rebuilt."""
    row: type[R]
    """A row: its fields are the columns, by name and order.  Values are UUID, str,
    int, bool, aware datetime, None, or a dict (of a jsonb column)."""
    key: ClassVar[tuple[str, ...]]
    """The columns of the primary key."""
    events: ClassVar[Collection[type[Event]]]
    """What it reads; nothing else is ever given to it."""
    is_by_stream: ClassVar[bool] = True
    """Whether every row has a column `stream_id` and is a fold of that one stream.
    Then an event that cannot be folded holds back its stream alone.  Otherwise the
    rows must not depend on the order of events."""

    @abstractmethod
    def keys(self, recorded: RecordedEvent) -> tuple[Key, ...]:
        """Return the keys of the rows that the event may change, each once."""

    @abstractmethod
    def is_birth(self, recorded: RecordedEvent) -> bool:
        """Return whether none of the event's rows can exist before it."""

    @abstractmethod
    def fold(self, key: Key, row: R | None, recorded: RecordedEvent) -> R | None:
        """Return the row of `key` after the event.

        Total over `events`: what history holds is never refused.
        """
