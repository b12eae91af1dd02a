"""What is measured: typed, silent, and for whole batches where work is done in batches.

An event of `emit` is a line for a person; a measure is for a counter.  Labels come from
closed sets (queue, kind, outcome, code, template of a route), never ids or texts (I12).
Without anybody who measures, a measure costs one look at an empty list.
"""

import contextlib
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import NamedTuple

import msgspec


class JobsClaimed(msgspec.Struct, frozen=True, gc=False):
    """One claim, committed; also one that found nothing."""

    queue: str
    seconds: float
    """How long the statement took, with its commit."""
    waits: Mapping[str, Sequence[float]]
    """By kind, for how many seconds each job had been ready."""


class Run(NamedTuple):
    """How one run ended."""

    queue: str
    kind: str
    result: str
    seconds: float | None
    """None: its handler never began."""
    margin: float | None = None
    """How much of its lease was left when it was over; None: it was not held here."""
    outcome: str | None = None
    """`succeeded`, `discarded` or `cancelled` when the job is over with it."""
    code: str | None = None
    """Why it was discarded."""


class JobsSucceeded(msgspec.Struct, frozen=True, gc=False):
    """Jobs of one kind that plainly succeeded, committed together."""

    queue: str
    kind: str
    seconds: Sequence[float]
    """How long each handler ran."""
    margins: Sequence[float]
    """How much of its lease was left then."""


class RunsSettled(msgspec.Struct, frozen=True, gc=False):
    """Runs whose endings are committed."""

    runs: Sequence[Run]


class LeaseLost(msgspec.Struct, frozen=True):
    """A claim ended without its handler's word: `expired`, `released`, `superseded`."""

    queue: str
    cause: str


class WriteFenced(msgspec.Struct, frozen=True):
    """A write of somebody who holds the job no more was refused."""

    write: str


class EventsAppended(msgspec.Struct, frozen=True):
    """Events were committed by this process, by category of stream."""

    events: Mapping[str, int]


class AppendConflicted(msgspec.Struct, frozen=True):
    """A group was refused because its streams had moved on."""

    category: str


class UnitRepeated(msgspec.Struct, frozen=True):
    """A transaction lost a race and is tried again."""

    name: str
    sqlstate: str


class JobsEnqueued(msgspec.Struct, frozen=True):
    """A job was born, or was there already under its key."""

    queue: str
    kind: str
    source: str
    is_duplicate: bool = False


class OperatorActed(msgspec.Struct, frozen=True):
    """An operator's action is on record, `taken` or `refused`."""

    action: str
    outcome: str


class GoodsAnswered(msgspec.Struct, frozen=True):
    """What became of one purchase of goods is on record."""

    provider: str
    outcome: str


class OrderFulfilled(msgspec.Struct, frozen=True):
    """Everything of an order is done."""

    kind: str
    seconds: float
    """Since it was paid, or since it was to take effect."""


class CallbackTaken(msgspec.Struct, frozen=True):
    """A provider told something by itself, and it is on record what became of it."""

    provider: str
    outcome: str
    """`accepted`, `duplicate`, `ignored`, `failed`, or why it was rejected."""


class ProviderAsked(msgspec.Struct, frozen=True):
    """One request to a provider, and what it came to."""

    provider: str
    operation: str
    outcome: str
    seconds: float


class ProjectionFailed(msgspec.Struct, frozen=True):
    """A batch of a projection failed."""

    projection: str


class ConnectionLent(msgspec.Struct, frozen=True):
    """Somebody asked the pool for a connection."""

    pool: str
    seconds: float
    """How long that took."""
    is_timeout: bool = False


class RequestBegun(msgspec.Struct, frozen=True):
    """An HTTP request came in, or has left (`n` is -1)."""

    surface: str
    n: int = 1


class RequestAnswered(msgspec.Struct, frozen=True):
    """An HTTP request was answered."""

    surface: str
    route: str
    """Its template, never its path."""
    method: str
    status: int
    seconds: float
    problem: str | None
    """The code, if the answer was a problem."""


class KeyUsed(msgspec.Struct, frozen=True):
    """A request came under an idempotency key."""

    result: str
    """`new`, `replayed`, `mismatch` or `in_progress`."""


class Refused(msgspec.Struct, frozen=True):
    """Somebody was not let in: not known, or not allowed to."""

    surface: str
    cause: str
    is_known: bool


class StreamFollowed(msgspec.Struct, frozen=True):
    """Somebody follows what happens, or has left (`n` is -1)."""

    n: int = 1


class StreamDropped(msgspec.Struct, frozen=True):
    """Somebody who followed was too slow, or came back too late: he loads anew."""


type Measure = (
    JobsClaimed
    | JobsSucceeded
    | RunsSettled
    | LeaseLost
    | WriteFenced
    | EventsAppended
    | AppendConflicted
    | UnitRepeated
    | JobsEnqueued
    | OperatorActed
    | GoodsAnswered
    | OrderFulfilled
    | CallbackTaken
    | ProviderAsked
    | ProjectionFailed
    | ConnectionLent
    | RequestBegun
    | RequestAnswered
    | KeyUsed
    | Refused
    | StreamFollowed
    | StreamDropped
)

type Meter = Callable[[Measure], None]

_meters: list[Meter] = []


def is_measured() -> bool:
    """Whether anybody measures: else nobody need collect anything."""
    return bool(_meters)


def measure(what: Measure) -> None:
    """Tell every meter."""
    for meter in tuple(_meters):
        meter(what)


@contextlib.contextmanager
def measuring(meter: Meter) -> Generator[None]:
    """Let `meter` be told every measure inside the block."""
    _meters.append(meter)
    try:
        yield
    finally:
        _meters.remove(meter)
