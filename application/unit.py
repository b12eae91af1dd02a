"""The unit of work: groups of streams that change together or not at all.

A group names the heads that it needs, and a pure function that decides once
they are locked.  The store locks the heads of a whole batch in the global order,
calls every group's `decide` with what it found, and writes what they return in
one transaction.  Groups do not affect each other: one that refuses, conflicts or
cannot be stored leaves its neighbours as they are.

There are two kinds of check, and both belong in `decide` (mechanisms 8):
who holds a lease is checked by token and state (`domain.jobs.aggregate.holder`)
and takes the version from the locked head; who decided from an earlier read
checks with `is_current` that the version is still the one it read.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol
from uuid import UUID

import msgspec

from domain.event import Event, Instant, JsonObject, Meta
from domain.stream import Change, Ref, State


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """One locked head: the fold of its stream, and what was written at its birth."""

    tenant_id: str
    state: State
    correlation_id: str
    lease_until: Instant | None = None
    """Of a running job: a volatile column, so no part of the fold."""


type Locked = Mapping[Ref, Head]
"""The heads that exist, locked until the unit's end; a missing ref is unborn."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The group wrote nothing; `code` says why (`lease_lost`, `conflict` …)."""

    code: str


BUSY: Final = Refused("busy")
"""Whether there is room could not be found out in time."""


LINGERING: Final = Refused("job_lingering")
"""A handler of the job runs on although its run is over: there would be two."""


type Versions = frozenset[int] | None
"""What whoever asks has looked at: the thing has to be at one of these; None: at any.

The empty set is of somebody who has looked at something else.
"""


def is_seen(versions: Versions, version: int) -> bool:
    """Whether a thing at that version is as whoever asks has seen it."""
    return versions is None or version in versions


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What a request was answered with: by these it is answered again."""

    status: int
    kind: str
    """Of what it made or changed, in the words of whoever shows it."""
    id: str


@dataclass(frozen=True, slots=True)
class KeyRefused(Refused):
    """Nothing was written: the request's key is somebody's, or has been."""


@dataclass(frozen=True, slots=True)
class Repeated(KeyRefused):
    """Nothing was written: the request was answered before, under the same key."""

    answer: Answer


@dataclass(frozen=True, slots=True)
class Unstorable:
    """PostgreSQL refused the group's data itself; nothing was written."""

    error: str


@dataclass(frozen=True, slots=True)
class Written:
    """The group is committed; `position` is its last event's, 0 when it wrote none."""

    changes: tuple[Change, ...]
    position: int


type Result = Written | Refused | Unstorable

type Decide = Callable[[Locked, Instant], tuple[Change, ...] | Refused]
"""Pure; called again from fresh heads when the unit is repeated."""


type IsAsked = Callable[[Sequence[Change]], bool]
"""Whether a change that was accepted is not done yet, by what was written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Once:
    """A request that has one effect however often it comes; see `application.once`.

    The key is taken before any head is locked, and its answer is written with the
    events.  Nobody waits for it: a group that comes second is `Repeated`, or
    `KEY_IN_PROGRESS` or `KEY_REUSED`.  One that is refused uses up no key.
    """

    tenant_id: str
    principal: str
    """Who asks; keys of others mean nothing to them."""
    key: str
    request: JsonObject
    """All that makes it this request, with its defaults; the database hashes it."""
    status: int
    """Of the answer once it is done."""
    status_asked: int | None = None
    """Of the answer while somebody else has to do it yet, or to agree."""
    is_asked: IsAsked = lambda _changes: False
    """Tells that, by what was written."""
    kind: str = ""
    """Of what is made or changed: see `making`."""
    id: str = ""

    def making(self, kind: str, id_: str) -> "Once":
        """Return the same, of whatever has that id."""
        return replace(self, kind=kind, id=id_)

    def answer(self, changes: Sequence[Change] = ()) -> Answer:
        """Return what is answered once these are written."""
        asked = self.status_asked if self.is_asked(changes) else None
        return Answer(status=asked or self.status, kind=self.kind, id=self.id)


KEY_IN_PROGRESS: Final = KeyRefused("idempotency_in_progress")
"""The same request has the key in a transaction that has not ended."""

KEY_REUSED: Final = KeyRefused("idempotency_key_reused")
"""The key stands for another request, or for one that nobody can compare."""


@dataclass(frozen=True, slots=True)
class Group:
    """Streams that change together: which heads to lock, and what to write then."""

    refs: tuple[Ref, ...]
    decide: Decide
    meta: Meta
    """Written beside every event of the group; the store adds the commit id.

    Births and changes of streams whose own correlation differs keep the group's.
    """

    needs_room: bool = False
    """Whether its job is let in only below the limits of pending jobs.

    For what an operator asks for of his own accord; whatever follows from money taken
    is never refused.  Without room the group is `Refused`, by the code of the limit or
    `BUSY`; while an earlier handler of the job runs on somewhere, as `LINGERING`.
    """
    once: Once | None = None
    """The key under which it is asked for, if it has one."""


def changed(ref: Ref, head: Head, events: Sequence[Event], state: State) -> Change:
    """Return the change of a locked head by `events`, which lead to `state`."""
    return Change(
        ref=ref,
        tenant_id=head.tenant_id,
        expected=head.state.version,
        events=tuple(events),
        state=state,
    )


def guard(ref: Ref, tenant_id: str, version: int) -> Change:
    """Return what holds only while `ref` is at the version that was read."""
    state = State(version=version)
    return Change(
        ref=ref, tenant_id=tenant_id, expected=version, events=(), state=state
    )


class UnitOfWork(Protocol):
    """Commit groups; implemented by the batch store."""

    def commit(self, groups: Sequence[Group]) -> list[Result]:
        """Return one result per group, in order, after the commit.

        Deadlocks and serialization failures are repeated up to five times, and an
        unknown commit is resolved by its commit id before anything is repeated.

        Raises:
            DatabaseUnavailableError: nothing of these groups is known to be written.
        """
        ...


class Ids(Protocol):
    """Makes UUIDv7 ids; the shell's clock and randomness behind one call."""

    def __call__(self) -> UUID:
        """Return a new id."""
        ...


def is_current(locked: Locked, change: Change) -> bool:
    """Whether `change` was decided against the version that is locked now."""
    head = locked.get(change.ref)
    return (head.state.version if head is not None else 0) == change.expected
