"""Stop and resume buying around restores, by people, with a reason, on record.

open ──engage──► quarantined: deliveries are marked from then on, page by page
quarantined, that sign is known ──engage──► nothing, it is so already
quarantined ──release──► open, if everything marked was reconciled or is in review
quarantined, something is left ──release──► refused: how many; an override lets it go
open ──release──► nothing, it is so already
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Final, Protocol
from uuid import UUID

import msgspec

from application.errors import ApplicationError
from application.operators.instruction import Instruction
from application.operators.refusals import DEFAULT_TENANT, About, Refusals
from application.operators.taken import Kept
from application.unit import Ids, UnitOfWork
from domain.event import Instant, Meta
from domain.operators.events import ActionRefused

WHAT: Final = "restore-guard"
"""What the log's remarks about it are correlated by."""

SHOWN: Final = 50
"""How many deliveries the list of work holds at most."""


class PlaceOf(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Which cluster and history a database is in; ids as texts, they are large."""

    system_identifier: str
    timeline: int
    database_oid: int
    table_oid: int


class Work(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One delivery that waits to be reconciled or reviewed."""

    delivery_id: UUID
    tenant_id: str
    order_id: str
    line: int
    provider: str
    state: str
    key: str | None
    is_marked: bool
    """Whether it is `goods.purchase_unknown(restored)` by now."""


class LostPurchase(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One purchase that a journal holds and the log lacks."""

    key: str
    purchase: int
    host: str
    found_at: Instant
    delivery_id: UUID | None
    """None: its order is not in this database either."""


class GuardState(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Where the guard stands, and what there is to do."""

    now: Instant
    state: str
    """`open` or `quarantined`."""
    episode: int
    signs: tuple[str, ...]
    since: Instant | None
    engaged_by: str | None
    reason: str | None
    is_planned: bool
    stored: PlaceOf | None
    """The place as it was last approved; None: nothing was bought yet."""
    found: PlaceOf
    """The place as it is."""
    position: int
    """The log's last position, to compare with that of the server before."""
    left: int
    """How many deliveries are neither reconciled nor in review."""
    in_review: int
    """How many marked deliveries wait for a person."""
    work: tuple[Work, ...]
    lost: tuple[LostPurchase, ...]
    lost_purchases: int


class Guarded(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Where the guard stands after a person has changed it."""

    events: tuple[str, ...]
    """Tags of the events that were written; none: it was so already."""
    position: int
    marked: int
    """How many deliveries were marked on the way."""
    guard: GuardState


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """How a person engages: by which sign, and whether nothing will be lost."""

    sign: str
    is_planned: bool = False


class RestoreGuard(Protocol):
    """Keeps the guard's row; each change is committed with its remark."""

    def engage(
        self, signs: Collection[str], meta: Meta, *, is_planned: bool = False
    ) -> Kept:
        """Return what is committed: `restore.detected`, if it is new, and the record.

        Raises:
            DatabaseUnavailableError: nothing is known to be done.
        """
        ...

    def release(self, meta: Meta, *, is_override: bool) -> Kept:
        """Return what is committed: `restore.released`, if it is new, and the record.

        Raises:
            RestoreUnfinishedError: deliveries are left, and it is no override.
            DatabaseUnavailableError: nothing is known to be done.
        """
        ...

    def state(self) -> GuardState:
        """Return where it stands."""
        ...


@dataclass(frozen=True, slots=True)
class Quarantining:
    """Engages and releases on behalf of people."""

    guard: RestoreGuard
    look: Callable[[], object]
    """Looks for signs, and engages by itself when there are any."""
    mark: Callable[[], int]
    """Marks what is open and not marked yet; returns how much it was."""
    units: UnitOfWork
    ids: Ids

    def status(self) -> GuardState:
        """Return where the guard stands."""
        return self.guard.state()

    def engage(self, wish: Wish, instruction: Instruction) -> Guarded:
        """Return the guard after nothing is bought any more, and all is marked.

        Raises:
            DatabaseUnavailableError: nothing more is known to be done; again is safe.
        """
        # First the quarantine, then the marks: nothing is bought in between.
        kept = self.guard.engage(
            (wish.sign,), instruction.meta(WHAT), is_planned=wish.is_planned
        )
        marked = self.mark()
        return self._told(("restore.detected",), kept, marked)

    def release(self, instruction: Instruction, *, is_override: bool) -> Guarded:
        """Return the guard after buying has gone on.

        Raises:
            RestoreUnfinishedError: deliveries are left, and it is no override.
            DatabaseUnavailableError: nothing more is known to be done; again is safe.
        """
        self.look()
        marked = self.mark()
        try:
            kept = self.guard.release(instruction.meta(WHAT), is_override=is_override)
        except ApplicationError as error:
            refused = ActionRefused(
                action="release_restore_guard", target=WHAT, code=error.code
            )
            about = About(DEFAULT_TENANT, WHAT)
            Refusals(self.units, self.ids).record(refused, instruction, about)
            raise
        return self._told(("restore.released",), kept, marked)

    def _told(self, tags: tuple[str, ...], kept: Kept, marked: int) -> Guarded:
        return Guarded(
            events=tags if kept.is_new else (),
            position=kept.position,
            marked=marked,
            guard=self.guard.state(),
        )
