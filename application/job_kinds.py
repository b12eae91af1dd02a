"""THE table of job kinds: one entry each, and everything the processor knows of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

import msgspec

from application.context import Context
from domain.jobs.outcome import Outcome
from domain.jobs.verdict import Budget
from domain.stream import StreamKind

HEARTBEAT_SECONDS: Final = 15
"""How often leases are confirmed (EvoBGP, requirements 20)."""

LEASE_MARGIN_SECONDS: Final = 10
"""What a lease must outlast beyond one call and one heartbeat (mechanisms 23)."""


_USERS_BUDGET: Final = Budget(max_attempts=3)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobKind[Args: msgspec.Struct]:
    """One kind of job; refused at construction unless its lease is long enough."""

    name: str
    """Stored in every job of the kind, for ever."""
    args: type[Args]
    """Decoded strictly before every run; what does not fit is a dead letter."""
    handler: Callable[[Args, Context], Outcome]
    queue: str = "default"
    budget: Budget = _USERS_BUDGET
    lease_seconds: int = 60
    call_seconds: int = 10
    """Longest provider call; none is begun with less lease or deadline left."""
    deadline_seconds: int = 60
    """How long one run may take; then the attempt ends as `handler_timeout`."""
    asks_provider: bool = False
    """Never claimed beyond free slots, so that none waits with a running lease."""
    unique_key: Callable[[Args], str | None] = lambda _: None
    serial_key: Callable[[Args], str | None] = lambda _: None
    concurrency_limit: int = 1
    """How many jobs of one serial key may run at once."""
    record: Callable[[Args], UUID] | None = None
    """What follows the job: an operation, a delivery or a bulk operation, if any."""
    record_kind: StreamKind = StreamKind.OPERATION
    """Which of them its records are."""

    def __post_init__(self) -> None:
        """Refuse a lease that a single slow call could outlast.

        Raises:
            ValueError: the lease is shorter than call + heartbeat + 10 s.
        """
        least = least_lease_seconds(self.call_seconds)
        if self.lease_seconds < least:
            msg = f"job kind {self.name}: lease_seconds must be at least {least}"
            raise ValueError(msg)


def least_lease_seconds(call_seconds: int) -> int:
    """Return the shortest lease that outlasts a call, a heartbeat and a margin."""
    return call_seconds + HEARTBEAT_SECONDS + LEASE_MARGIN_SECONDS


type AnyKind = JobKind[Any]
type Kinds = Mapping[str, AnyKind]
"""Kinds by name: what one process can run."""


def by_name(*kinds: AnyKind) -> Kinds:
    """Return the table of `kinds`.

    Raises:
        ValueError: two kinds have one name.
    """
    table = {kind.name: kind for kind in kinds}
    if len(table) != len(kinds):
        msg = "two job kinds have one name"
        raise ValueError(msg)
    return table


def grace_seconds_of(kinds: Kinds) -> int:
    """Return how long a worker that is stopped lets its handlers finish.

    Its longest call fits, whoever brings the kind, and time to record what it said.
    """
    return max((kind.call_seconds for kind in kinds.values()), default=0) + 15


class KindLine(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What a person is told of one kind."""

    kind: str
    package: str
    """The distribution that brings it, with its version."""
    queue: str
    max_attempts: int
    lease_seconds: int
    deadline_seconds: int


class KindTable(msgspec.Struct, frozen=True):
    """Every kind that is known to an installation."""

    lines: tuple[KindLine, ...]
    """The kinds by name."""
    faults: tuple[str, ...]
    """What is wrong with kinds of other packages, a sentence each."""


def line_of(kind: AnyKind, package: str) -> KindLine:
    """Return what a person is told of a kind that `package` brings."""
    return KindLine(
        kind=kind.name,
        package=package,
        queue=kind.queue,
        max_attempts=kind.budget.max_attempts,
        lease_seconds=kind.lease_seconds,
        deadline_seconds=kind.deadline_seconds,
    )
