"""One callback of a provider, as it is kept, and what keeps it.

                         ┌► accepted ■  told to its delivery
 arrives ─► failed ──────┼► ignored     about nothing that is known here
   │     (interrupted)   └► failed      cannot be told to its delivery
   ├─► duplicate ■  of one that was accepted
   └─► rejected ■   nobody has signed it

It is kept before anything follows from it, as failed: so whatever dies on the way, it
can be told again, by the provider or by a person.
"""

from collections.abc import Sequence
from typing import Final, Protocol
from uuid import UUID

import msgspec

from application.providers.sealing import Place, Sealed
from application.unit import Once
from domain.event import Instant, Meta
from domain.operators.events import (
    ActionTaken,
    CallbackContradicted,
    CallbackReplayed,
)

ACCEPTED: Final = "accepted"
DUPLICATE: Final = "duplicate"
IGNORED: Final = "ignored"
FAILED: Final = "failed"
REJECTED: Final = "rejected"
STATUSES: Final = (ACCEPTED, DUPLICATE, IGNORED, FAILED, REJECTED)

REPLAYED: Final = frozenset({FAILED, IGNORED})
"""What may be told again."""

INTERRUPTED: Final = "interrupted"
"""Code of a callback of which nobody knows what followed from it."""

CONTRADICTED: Final = "contradicted"
"""Code: it was bought, and the delivery has ended otherwise."""

TABLE: Final = "provider_callbacks"
COLUMN: Final = "body"


class Callback(msgspec.Struct, frozen=True, kw_only=True):
    """One row: what came, and what became of it."""

    id: UUID
    tenant_id: str
    provider: str
    event_id: str | None
    """As the provider names the event; None: it does not, in a form that can be."""
    status: str
    code: str | None
    body_sha256: bytes
    body_bytes: int
    sealed: Sealed | None = None
    """The body as it came; None: of what nobody has signed, and of duplicates."""
    kind: str | None = None
    """What it says, in our words: `delivered`, `accepted` or `failed`."""
    delivery: UUID | None = None
    duplicate_of: UUID | None = None
    received_at: Instant | None = None
    """Set by the database."""
    processed_at: Instant | None = None

    @property
    def place(self) -> Place:
        """Where its body opens."""
        return Place(
            tenant=self.tenant_id, table=TABLE, column=COLUMN, row=str(self.id)
        )


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """What followed from a callback."""

    status: str
    code: str | None
    kind: str | None = None
    delivery: UUID | None = None
    position: int = 0
    """Of the last event that it caused; 0: none."""


type CallbackEvent = CallbackContradicted | CallbackReplayed | ActionTaken


class Remarked(msgspec.Struct, frozen=True):
    """Facts that are recorded beside what became of a callback."""

    events: tuple[CallbackEvent, ...]
    meta: Meta


class CallbackBook(Protocol):
    """Keeps callbacks."""

    def now(self) -> Instant:
        """Return the time, by the database's clock."""
        ...

    def keep(self, callback: Callback) -> Callback | None:
        """Commit a new row, or return the one that the same event has already.

        Raises:
            DatabaseUnavailableError: nothing is known to be kept.
        """
        ...

    def mark(
        self,
        callback: Callback,
        told: Told,
        remarks: Sequence[Remarked],
        once: Once | None = None,
    ) -> Callback:
        """Commit what became of it, and return it as it stands.

        What is accepted stays so; then only the actions of people are recorded.

        Raises:
            AnsweredBeforeError: the request of that key was carried out before.
            DatabaseUnavailableError: nothing is known to be marked.
        """
        ...

    def find(self, callback: UUID) -> Callback | None:
        """Return one."""
        ...

    def latest(
        self, *, status: str | None, provider: str | None, limit: int
    ) -> Sequence[Callback]:
        """Return the latest ones, newest first."""
        ...
