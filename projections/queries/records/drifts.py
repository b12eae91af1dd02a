"""Drifts, the newest episode first; by default those that are open."""

from dataclasses import dataclass
from typing import Final

import msgspec

from projections.connections import Lend
from projections.queries.listing import BY_POSITION, Listing
from projections.queries.page import Page
from projections.queries.records.related import (
    Customer,
    customers,
    shown,
    told_by_streams,
)
from projections.queries.terms import Among, Asked, Field
from projections.read_models.drifts import DriftRow
from projections.reading import AtLeast, reading

DRIFTS: Final = Listing(
    name="drifts",
    row=DriftRow,
    order=BY_POSITION,
    fields={
        "state": Field("state", "text"),
        "kind": Field("kind", "text"),
        "entitlement": Field("stream_id", "uuid"),
        # Told as the shop does; looked for by what the entitlements are.
        "customer": Field("stream_id", "uuid"),
        "tenant": Field("tenant_id", "text"),
        "position": Field("position", "bigint"),
    },
)

OPEN: Final = Asked(terms=(Among("state", ("open",)),))


class DriftLine(DriftRow, frozen=True, kw_only=True, rename="camel"):
    """One kind of drift, with whose access it is."""

    customer_id: str | None
    """None: the entitlement is not in its read model yet."""
    slot: int | None
    panel_user_id: int | None
    """None: the panel never showed the user."""


@dataclass(frozen=True, slots=True)
class DriftList:
    """Lists drifts."""

    lend: Lend

    def __call__(
        self, asked: Asked = OPEN, *, at_least: AtLeast | None = None
    ) -> Page[DriftLine]:
        """Return one page.

        Raises:
            InvalidRequestError: names the member and what would be right.
            CounterfoilError: `at_least` was not reached; see there.
        """
        with reading(
            self.lend, "drifts", "entitlements", at_least=at_least
        ) as snapshot:
            asked = told_by_streams(
                snapshot, asked, "customer", "entitlements.customer_id"
            )
            page = DRIFTS.read(snapshot, asked)
            whose = customers(snapshot, (row.stream_id for row in page.items))
        return shown(page, (_line(row, whose.get(row.stream_id)) for row in page.items))


def _line(row: DriftRow, customer: Customer | None) -> DriftLine:
    return DriftLine(
        **msgspec.structs.asdict(row),
        customer_id=customer.customer_id if customer else None,
        slot=customer.slot if customer else None,
        panel_user_id=customer.panel_user_id if customer else None,
    )
