"""Entitlements, newest first: what is owed, and how far the panel was brought to it."""

from dataclasses import dataclass
from typing import Final
from uuid import UUID

import msgspec
from psycopg import sql
from psycopg.rows import class_row

from projections.connections import Lend
from projections.queries.listing import Listing
from projections.queries.page import Page
from projections.queries.records.related import EVERYTHING, shown
from projections.queries.terms import Asked, Field
from projections.read_models.entitlements import EntitlementRow
from projections.reading import AtLeast, Reading, reading

ENTITLEMENTS: Final = Listing(
    name="entitlements",
    row=EntitlementRow,
    fields={
        "state": Field("state", "text"),
        "customer": Field("customer_id", "text"),
        # When the access ends by all that is settled.
        "ends_at": Field("planned_ends_at", "timestamptz", is_range=True),
        "id": Field("stream_id", "uuid", is_unique=True),
        "tenant": Field("tenant_id", "text"),
        "created_at": Field("created_at", "timestamptz"),
    },
)

_APPLIED: Final = sql.SQL("""
SELECT i.id AS stream_id, o.desired_version
  FROM unnest(%(ids)s::uuid[]) AS i(id)
 CROSS JOIN LATERAL (
    SELECT o.desired_version
      FROM {operations} o
     WHERE o.entitlement_id = i.id
       AND o.state = 'succeeded'
     ORDER BY o.desired_version DESC
     LIMIT 1) o
""")


class EntitlementLine(EntitlementRow, frozen=True, kw_only=True, rename="camel"):
    """One entitlement, with what of it the panel has confirmed."""

    applied_version: int | None
    """The latest desired version that an operation brought to the panel; None: none."""


class _Applied(msgspec.Struct, frozen=True):
    stream_id: UUID
    desired_version: int


@dataclass(frozen=True, slots=True)
class EntitlementList:
    """Lists entitlements."""

    lend: Lend

    def __call__(
        self, asked: Asked = EVERYTHING, *, at_least: AtLeast | None = None
    ) -> Page[EntitlementLine]:
        """Return one page.

        Raises:
            InvalidRequestError: names the member and what would be right.
            CounterfoilError: `at_least` was not reached; see there.
        """
        with reading(
            self.lend, "entitlements", "operations", at_least=at_least
        ) as snapshot:
            page = ENTITLEMENTS.read(snapshot, asked)
            applied = applied_versions(snapshot, [row.stream_id for row in page.items])
        return shown(
            page,
            (
                EntitlementLine(
                    **msgspec.structs.asdict(row),
                    applied_version=applied.get(row.stream_id),
                )
                for row in page.items
            ),
        )


def applied_versions(snapshot: Reading, ids: list[UUID]) -> dict[UUID, int]:
    """Return how far the panel was brought to what is owed, as far as it was."""
    statement = _APPLIED.format(operations=snapshot.tables["operations"])
    with snapshot.connection.cursor(row_factory=class_row(_Applied)) as cursor:
        found = cursor.execute(statement, {"ids": ids})
        return {each.stream_id: each.desired_version for each in found}
