"""Orders, newest first; of those that are not delivered, what they wait for."""

from dataclasses import dataclass
from typing import Final

import msgspec

from projections.connections import Lend
from projections.queries.listing import Listing
from projections.queries.page import Page
from projections.queries.records.related import EVERYTHING, shown
from projections.queries.records.waits import Wait, waits
from projections.queries.terms import Among, Asked, Field
from projections.read_models.orders import OrderRow
from projections.reading import AtLeast, reading

ORDERS: Final = Listing(
    name="orders",
    row=OrderRow,
    fields={
        "state": Field("state", "text"),
        "kind": Field("kind", "text"),
        "customer": Field("customer_id", "text"),
        "order": Field("order_id", "text"),
        "id": Field("stream_id", "uuid", is_unique=True),
        "tenant": Field("tenant_id", "text"),
        "created_at": Field("created_at", "timestamptz"),
    },
)

PAID: Final = "paid"

UNFULFILLED: Final = Asked(terms=(Among("state", (PAID,)),))
"""What was paid, and is not delivered yet."""


class OrderLine(OrderRow, frozen=True, kw_only=True, rename="camel"):
    """One order, with what it waits for."""

    wait: Wait | None
    """None: it waits for nothing any more."""


@dataclass(frozen=True, slots=True)
class OrderList:
    """Lists orders."""

    lend: Lend

    def __call__(
        self, asked: Asked = EVERYTHING, *, at_least: AtLeast | None = None
    ) -> Page[OrderLine]:
        """Return one page.

        Raises:
            InvalidRequestError: names the member and what would be right.
            CounterfoilError: `at_least` was not reached; see there.
        """
        with reading(
            self.lend, "orders", "operations", "deliveries", "jobs", at_least=at_least
        ) as snapshot:
            page = ORDERS.read(snapshot, asked)
            waiting = [row.stream_id for row in page.items if row.state == PAID]
            found = waits(snapshot, waiting)
        return shown(
            page,
            (
                OrderLine(**msgspec.structs.asdict(row), wait=found.get(row.stream_id))
                for row in page.items
            ),
        )
