"""What people did and were refused, newest first."""

from dataclasses import dataclass
from typing import Final

import msgspec

from projections.connections import Lend
from projections.queries.listing import BY_POSITION, Listing
from projections.queries.page import Page
from projections.queries.records.related import EVERYTHING
from projections.queries.terms import Among, Asked, Field
from projections.read_models.audit import AuditRow
from projections.reading import AtLeast, reading

_PART: Final = "part"
_NAMES_PARTS: Final = frozenset({_PART, "commit"})

AUDIT: Final = Listing(
    name="audit",
    row=AuditRow,
    order=BY_POSITION,
    fields={
        "actor": Field("actor_id", "text"),
        "action": Field("action", "text"),
        "target": Field("target", "text"),
        "outcome": Field("outcome", "text"),
        "category": Field("category", "text"),
        "part": Field("is_part", "boolean"),
        "commit": Field("commit_id", "uuid"),
        "at": Field("recorded_at", "timestamptz", is_range=True),
        "tenant": Field("tenant_id", "text"),
        "position": Field("position", "bigint"),
    },
)


@dataclass(frozen=True, slots=True)
class AuditList:
    """Lists the audit; without a word about `part` or `commit`, no parts of actions."""

    lend: Lend

    def __call__(
        self, asked: Asked = EVERYTHING, *, at_least: AtLeast | None = None
    ) -> Page[AuditRow]:
        """Return one page.

        Raises:
            InvalidRequestError: names the member and what would be right.
            CounterfoilError: `at_least` was not reached; see there.
        """
        if not any(term.field in _NAMES_PARTS for term in asked.terms):
            terms = (*asked.terms, Among(_PART, (False,)))
            asked = msgspec.structs.replace(asked, terms=terms)
        with reading(self.lend, "audit", at_least=at_least) as snapshot:
            return AUDIT.read(snapshot, asked)
