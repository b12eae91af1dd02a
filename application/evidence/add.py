"""Somebody adds a file to a delivery: on the disk first, then on record.

    sniff ─► digest ─► file on the disk ─► one transaction: its row, and the action

Adding the same file again changes nothing more.  A crash after the file leaves a file
that no row names.
"""

import hashlib
from dataclasses import dataclass
from typing import Final

from application.errors import ApplicationError
from application.evidence.media import MEDIA, media_type_of
from application.evidence.port import (
    Evidence,
    EvidenceBook,
    EvidenceFiles,
    Kept,
    shown,
)
from application.operators.deliveries.found import (
    DELIVERY,
    about_delivery,
    find_delivery,
)
from application.operators.instruction import Instruction, as_given
from application.operators.refusals import Refusals
from application.operators.taken import Deed, taken
from application.ports import Streams
from application.unit import Ids, UnitOfWork
from domain.access.permissions import Permission
from domain.operators.actions import EVIDENCE_ADDED
from domain.operators.events import ActionRefused, ActionTaken

ACTION: Final = "add_evidence"
LARGEST_BYTES: Final = 5 * 1024 * 1024


class MediaTypeError(ApplicationError):
    """The file is nothing that is taken as evidence."""

    code = "unsupported_media_type"

    def __init__(self) -> None:
        """Say what is taken."""
        super().__init__(
            f"{self.code}: by its own bytes it is none of: {', '.join(MEDIA)}; send "
            "the file as the body itself, in no form and no JSON"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AddEvidence:
    """Adds files on behalf of people."""

    streams: Streams
    files: EvidenceFiles
    book: EvidenceBook
    units: UnitOfWork
    ids: Ids

    def __call__(self, key: str, content: bytes, instruction: Instruction) -> Kept:
        """Return the file as it is on record.

        Raises:
            ForbiddenError: whoever asks may not.
            NotFoundError: there is no such delivery of theirs.
            MediaTypeError: the file is nothing that is taken.
            EvidenceUnwritableError: it cannot be kept here.
            DatabaseUnavailableError: nothing is known to be on record.
        """
        try:
            return self._added(key, content, instruction)
        except ApplicationError as error:
            refused = ActionRefused(
                action=ACTION, target=as_given(key), code=error.code
            )
            about = about_delivery(self.streams, key, instruction)
            Refusals(self.units, self.ids).record(refused, instruction, about)
            raise

    def _added(self, key: str, content: bytes, instruction: Instruction) -> Kept:
        instruction.require(Permission.DELIVERIES_DECIDE)
        found = find_delivery(self.streams, key, instruction)
        media_type = media_type_of(content)
        if media_type is None or len(content) > LARGEST_BYTES:
            raise MediaTypeError
        evidence = Evidence(
            tenant_id=found.head.tenant_id,
            delivery=found.ref.id,
            sha256=hashlib.sha256(content).digest(),
            size_bytes=len(content),
            media_type=media_type,
            added_by=instruction.actor.id,
        )
        self.files.keep(evidence.sha256, content)
        deed = Deed(
            action=EVIDENCE_ADDED, target_kind=DELIVERY, target=str(found.ref.id)
        )

        def told(is_new: bool) -> ActionTaken:  # noqa: FBT001 - see `Telling`
            after = shown(evidence)
            return taken(deed, {} if is_new else after, after)

        meta = instruction.meta(found.head.correlation_id)
        return self.book.add(evidence, told, meta)
