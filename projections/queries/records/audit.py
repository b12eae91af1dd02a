"""What people did and were refused, newest first."""

from dataclasses import dataclass
from typing import Final

from projections.connections import Lend
from projections.queries.listing import BY_POSITION, Listing
from projections.queries.page import Page
from projections.queries.records.related import EVERYTHING
from projections.queries.terms import Asked, Field
from projections.read_models.audit import AuditRow
from projections.reading import AtLeast, reading

AUDIT: Final = Listing(
    name="audit",
    row=AuditRow,
    order=BY_POSITION,
    fields={
        "actor": Field("actor_id", "text"),
        "action": Field("action", "text"),
        "target": Field("target", "text"),
        "outcome": Field("outcome", "text"),
        "at": Field("recorded_at", "timestamptz", is_range=True),
        "tenant": Field("tenant_id", "text"),
        "position": Field("position", "bigint"),
    },
)


@dataclass(frozen=True, slots=True)
class AuditList:
    """Lists the audit."""

    lend: Lend

    def __call__(
        self, asked: Asked = EVERYTHING, *, at_least: AtLeast | None = None
    ) -> Page[AuditRow]:
        """Return one page.

        Raises:
            InvalidRequestError: names the member and what would be right.
            CounterfoilError: `at_least` was not reached; see there.
        """
        with reading(self.lend, "audit", at_least=at_least) as snapshot:
            return AUDIT.read(snapshot, asked)
