"""Somebody looks at a file of a delivery: on record before anything of it is told.

    its row ─► the file, whole and as it was kept ─► the look is on record ─► told

Files show people: who looked at which, and why, can be asked for later.
"""

import re
from dataclasses import dataclass
from typing import Final

from application.errors import NotFoundError
from application.evidence.port import Evidence, EvidenceBook, EvidenceFiles, shown
from application.operators.deliveries.found import DELIVERY, Found, find_delivery
from application.operators.instruction import Instruction, as_given
from application.operators.refusals import About, Refusals
from application.operators.taken import Deed, record
from application.ports import Streams
from application.unit import Ids, UnitOfWork
from domain.access.permissions import Permission
from domain.errors import CounterfoilError
from domain.operators.actions import EVIDENCE_VIEWED
from domain.operators.events import ActionRefused

ACTION: Final = "view_evidence"
_WHAT: Final = "evidence"
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Seen:
    """A file as it was kept."""

    evidence: Evidence
    content: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class LookAtEvidence:
    """Shows files to people."""

    streams: Streams
    files: EvidenceFiles
    book: EvidenceBook
    units: UnitOfWork
    ids: Ids

    def __call__(self, key: str, digest: str, instruction: Instruction) -> Seen:
        """Return the file of that digest; the look is on record.

        Raises:
            ForbiddenError: whoever asks may not; that is on record as well.
            NotFoundError: no delivery of theirs has such a file.
            EvidenceUnreadableError: it is not there as it was kept; on record too.
            DatabaseUnavailableError: the look is not known to be recorded.
        """
        found = find_delivery(self.streams, key, instruction)
        try:
            instruction.require(Permission.DELIVERIES_READ)
            evidence = self._evidence(found, digest)
            content = self.files.read(evidence.sha256, evidence.size_bytes)
        except NotFoundError:
            raise
        except CounterfoilError as error:
            refused = ActionRefused(
                action=ACTION, target=as_given(str(found.ref.id)), code=error.code
            )
            about = About(found.head.tenant_id, found.head.correlation_id)
            Refusals(self.units, self.ids).record(refused, instruction, about)
            raise
        self._record(evidence, found, instruction)
        return Seen(evidence, content)

    def _evidence(self, found: Found, digest: str) -> Evidence:
        if _DIGEST.fullmatch(digest):
            tenant, sha256 = found.head.tenant_id, bytes.fromhex(digest)
            evidence = self.book.find(tenant, found.ref.id, sha256)
            if evidence is not None:
                return evidence
        raise NotFoundError(_WHAT, as_given(digest))

    def _record(
        self, evidence: Evidence, found: Found, instruction: Instruction
    ) -> None:
        deed = Deed(
            action=EVIDENCE_VIEWED, target_kind=DELIVERY, target=str(found.ref.id)
        )
        meta = instruction.meta(found.head.correlation_id)
        tenant_id, told = found.head.tenant_id, shown(evidence)
        record(self.units, self.ids, deed, tenant_id, meta, told=told)
