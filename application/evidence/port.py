"""Evidence, and what keeps it: a folder of files, and a book of whose they are."""

from collections.abc import Callable
from typing import Protocol
from uuid import UUID

import msgspec

from domain.event import Instant, JsonObject, Meta
from domain.operators.events import ActionTaken


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """One file that was added to a delivery."""

    tenant_id: str
    delivery: UUID
    sha256: bytes
    size_bytes: int
    media_type: str
    added_by: str
    added_at: Instant | None = None
    """Set by the database."""


class Kept(msgspec.Struct, frozen=True):
    """A file as it is on record, and whether it is so only now."""

    evidence: Evidence
    is_new: bool


class EvidenceFiles(Protocol):
    """Keeps files by their digests."""

    def keep(self, sha256: bytes, content: bytes) -> None:
        """Return when it is on the disk, and its name too.

        Raises:
            EvidenceUnwritableError: it is not.
        """
        ...

    def read(self, sha256: bytes, size_bytes: int) -> bytes:
        """Return what was kept, and never anything else.

        Raises:
            EvidenceUnreadableError: it is not there, or not as it was kept.
        """
        ...


type Telling = Callable[[bool], ActionTaken]
"""Returns what goes on record, given whether the file is new."""


class EvidenceBook(Protocol):
    """Keeps which files belong to which delivery."""

    def add(self, evidence: Evidence, told: Telling, meta: Meta) -> Kept:
        """Commit it with the action; one that is there stays as it is.

        Raises:
            DatabaseUnavailableError: nothing is known to be kept.
        """
        ...

    def find(self, tenant_id: str, delivery: UUID, sha256: bytes) -> Evidence | None:
        """Return a file of a delivery; None: it has none of that digest."""
        ...


def shown(evidence: Evidence) -> JsonObject:
    """Return what of a file goes on record."""
    return {
        "sha256": evidence.sha256.hex(),
        "media_type": evidence.media_type,
        "size_bytes": evidence.size_bytes,
    }
