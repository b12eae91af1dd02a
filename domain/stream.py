"""What a decision changes: references to streams, and the changes themselves.

The number of a `StreamKind` is its place in the global lock order (external key
first, then these, by id inside each kind): every unit of work locks its heads in
the order of `Ref`, so two units can never wait for each other in a circle.
"""

from enum import IntEnum
from typing import NamedTuple
from uuid import UUID

import msgspec

from domain.event import Event


class StreamKind(IntEnum):
    """The kinds of stream, numbered by their place in the lock order."""

    ORDER = 1
    ENTITLEMENT = 2
    OPERATION = 3
    DELIVERY = 4
    JOB = 5
    MAINTENANCE = 6
    REMARK = 7
    """A stream of one event and without a head: nothing to lock."""
    BULK = 8
    """Locked last: whatever an item is about comes before it."""


class State(msgspec.Struct, frozen=True, kw_only=True):
    """What every aggregate's state has: the number of events that it is the fold of."""

    version: int = 0


class Ref(NamedTuple):
    """One stream; refs sort in the global lock order."""

    kind: StreamKind
    id: UUID


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """New events of one stream, decided against version `expected` (0: a birth).

    Without events it is a guard: what was decided beside it holds only as long as the
    stream is still at that version.
    """

    ref: Ref
    tenant_id: str
    expected: int
    events: tuple[Event, ...]
    state: State
    """The state after `events`."""
