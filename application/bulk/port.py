"""What bulk operations need from the outside: their items, and lists to choose from."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol
from uuid import UUID

import msgspec

from application.operators.target import History
from application.ports import Streams
from application.unit import Group, Refused, Result, UnitOfWork
from domain.stream import Ref


class Item(msgspec.Struct, frozen=True):
    """One thing of a bulk operation."""

    n: int
    """Its number, from 1; items are begun in this order."""
    target: UUID


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """Under what a worker writes: its token has to be the job's."""

    bulk: Ref
    job: Ref
    token: int


class ItemStoppedError(Exception):
    """The item was not begun, and nothing was written; `why` says what forbade it."""

    def __init__(self, why: Refused) -> None:
        """Keep the refusal."""
        super().__init__(why.code)
        self.why = why


LEASE_LOST = Refused("lease_lost")
"""The job has another holder by now, or none."""

NOT_RUNNING = Refused("not_running")
"""It was paused or cancelled."""

BEGUN = Refused("begun")
"""Another item is next: this one was begun before."""


class NoRoomYetError(Exception):
    """The item waits: as many jobs are pending as may be."""


class ItemUnit(UnitOfWork, Protocol):
    """Commits one group for an item, and what became of the item with it.

    A group that refuses the action says so by the event that puts it on record.
    """

    detail: str | None
    """What a refusal says beside its code; to be set before it is committed."""

    @property
    def is_written(self) -> bool:
        """Whether what became of the item is committed."""
        ...

    @property
    def wait_seconds(self) -> float:
        """How long the next item has to wait, by the rate and the database's clock."""
        ...


class Glance(Streams, History, Protocol):
    """Streams as they were when some of them were looked at together."""


class Items(Protocol):
    """Keeps items; whatever is written for a claim is refused without its token.

    Such a refusal is an `ItemStoppedError`.
    """

    def request(
        self, group: Group, bulk: UUID, tenant_id: str, targets: Sequence[UUID]
    ) -> Result:
        """Commit the birth of a bulk operation together with what it is about."""
        ...

    def clear(self, claim: Claim) -> None:
        """Forget what was chosen for an operation that is not frozen yet."""
        ...

    def add(
        self, claim: Claim, tenant_id: str, first: int, targets: Sequence[UUID]
    ) -> None:
        """Add items, numbered from `first`."""
        ...

    def page(self, bulk: UUID, first: int, most: int) -> Sequence[Item]:
        """Return items from number `first` on."""
        ...

    def glance(self, targets: Sequence[UUID]) -> Glance:
        """Return a look at these things, all at one moment."""
        ...

    def judge(self, claim: Claim, first: int, verdicts: Sequence[str]) -> None:
        """Keep what would become of the items from `first` on."""
        ...

    def verdicts(self, bulk: UUID) -> Mapping[str, int]:
        """Return how many items would have which end, so far."""
        ...

    def room(self, tenant_id: str) -> int | None:
        """Return how many more jobs may be pending for a tenant; None: no limit."""
        ...

    def wait_seconds(self, bulk: UUID) -> float:
        """Return how long the next item has to wait; see `ItemUnit`."""
        ...

    def unit(self, claim: Claim, item: Item) -> ItemUnit:
        """Return what carries one item out, once."""
        ...


class Chosen(Protocol):
    """What fits a filter, at one moment."""

    @property
    def position(self) -> int:
        """How far the list had followed the log at that moment."""
        ...

    def pages(self) -> Iterator[Sequence[UUID]]:
        """Yield the ids, oldest first, some at a time."""
        ...


class Chooser(Protocol):
    """Chooses by filters from the list of jobs."""

    def check(self, filter_: str) -> str:
        """Return a filter in the one form of all that say the same.

        Raises:
            InvalidRequestError: it is none, or an empty one.
        """
        ...

    def choose(self, tenant_id: str, filter_: str) -> AbstractContextManager[Chosen]:
        """Give what fits; the moment ends with the block."""
        ...
