"""Operations, newest first; by default those that need a human."""

from dataclasses import dataclass
from typing import Final
from uuid import UUID

import msgspec

from projections.connections import Lend
from projections.queries.listing import Listing
from projections.queries.page import Page
from projections.queries.records.related import (
    Customer,
    customers,
    order_ids,
    shown,
    told_by_streams,
)
from projections.queries.terms import Among, Asked, Field
from projections.read_models.operations import OperationRow
from projections.reading import AtLeast, reading

OPERATIONS: Final = Listing(
    name="operations",
    row=OperationRow,
    fields={
        "state": Field("state", "text"),
        "operation": Field("operation", "text"),
        "code": Field("code", "text"),
        "entitlement": Field("entitlement_id", "uuid"),
        # Told as the shop does; looked for by what their streams are.
        "customer": Field("entitlement_id", "uuid"),
        "order": Field("order_stream_id", "uuid"),
        "id": Field("stream_id", "uuid", is_unique=True),
        "tenant": Field("tenant_id", "text"),
        "created_at": Field("created_at", "timestamptz"),
    },
)

NEEDS_A_HUMAN: Final = Asked(terms=(Among("state", ("failed",)),))
"""Nothing runs a failed operation again without a person."""


class OperationLine(OperationRow, frozen=True, kw_only=True, rename="camel"):
    """One operation, with whose it is."""

    customer_id: str | None
    """None: the entitlement is not in its read model yet."""
    slot: int | None
    order_id: str | None
    """The shop's own; None of an operation that fulfils no order."""


@dataclass(frozen=True, slots=True)
class OperationList:
    """Lists operations."""

    lend: Lend

    def __call__(
        self, asked: Asked = NEEDS_A_HUMAN, *, at_least: AtLeast | None = None
    ) -> Page[OperationLine]:
        """Return one page.

        Raises:
            InvalidRequestError: names the member and what would be right.
            CounterfoilError: `at_least` was not reached; see there.
        """
        with reading(
            self.lend, "operations", "entitlements", "orders", at_least=at_least
        ) as snapshot:
            asked = told_by_streams(
                snapshot, asked, "customer", "entitlements.customer_id"
            )
            asked = told_by_streams(snapshot, asked, "order", "orders.order_id")
            page = OPERATIONS.read(snapshot, asked)
            whose = customers(snapshot, (row.entitlement_id for row in page.items))
            shop = order_ids(
                snapshot,
                (row.order_stream_id for row in page.items if row.order_stream_id),
            )
        return shown(page, (_line(row, whose, shop) for row in page.items))


def _line(
    row: OperationRow, whose: dict[UUID, Customer], shop: dict[UUID, str]
) -> OperationLine:
    customer = whose.get(row.entitlement_id)
    return OperationLine(
        **msgspec.structs.asdict(row),
        customer_id=customer.customer_id if customer else None,
        slot=customer.slot if customer else None,
        order_id=shop.get(row.order_stream_id) if row.order_stream_id else None,
    )
