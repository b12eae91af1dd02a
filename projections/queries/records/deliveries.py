"""Deliveries of goods, newest first; by default those that need a human."""

from dataclasses import dataclass
from typing import Final

from projections.connections import Lend
from projections.queries.listing import Listing
from projections.queries.page import Page
from projections.queries.terms import Among, Asked, Field
from projections.read_models.deliveries import DeliveryRow
from projections.reading import AtLeast, reading

DELIVERIES: Final = Listing(
    name="deliveries",
    row=DeliveryRow,
    fields={
        "state": Field("state", "text"),
        "provider": Field("provider", "text"),
        "code": Field("code", "text"),
        "customer": Field("customer_id", "text"),
        "order": Field("order_id", "text"),
        "id": Field("stream_id", "uuid", is_unique=True),
        "tenant": Field("tenant_id", "text"),
        "created_at": Field("created_at", "timestamptz"),
    },
)

NEEDS_A_HUMAN: Final = Asked(terms=(Among("state", ("needs_review", "failed")),))
"""Nothing moves these any more without a person."""


@dataclass(frozen=True, slots=True)
class DeliveryList:
    """Lists deliveries."""

    lend: Lend

    def __call__(
        self, asked: Asked = NEEDS_A_HUMAN, *, at_least: AtLeast | None = None
    ) -> Page[DeliveryRow]:
        """Return one page.

        Raises:
            InvalidRequestError: names the member and what would be right.
            CounterfoilError: `at_least` was not reached; see there.
        """
        with reading(self.lend, "deliveries", at_least=at_least) as snapshot:
            return DELIVERIES.read(snapshot, asked)
