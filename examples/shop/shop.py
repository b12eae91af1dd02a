"""A shop in one file: payment and settlement stand or fall together.

    .venv/bin/python examples/shop/shop.py ORDER CUSTOMER CENTS

The shop keeps its own table of payments. In the transaction in which it writes a
payment it settles the order, so there is no moment at which money was taken and
nobody owes the customer anything, and none at which it is the other way round.
"""

import os
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg

from application.front_door import Settled
from infrastructure import embedded
from infrastructure.client import Client
from infrastructure.postgres.migrator import migrate

CREATE_PAYMENTS = """
CREATE TABLE IF NOT EXISTS public.shop_payments (
    order_id text PRIMARY KEY,
    customer text NOT NULL,
    cents    bigint NOT NULL CHECK (cents > 0)
)
"""
# The payment provider tells us twice now and then: the second time changes nothing.
TAKE = """
INSERT INTO public.shop_payments (order_id, customer, cents)
VALUES (%(order)s, %(customer)s, %(cents)s)
ON CONFLICT (order_id) DO NOTHING
"""


def take_payment(
    connection: psycopg.Connection[Any], order: str, customer: str, cents: int
) -> Settled:
    """Write the payment and settle its order: commit both, or neither."""
    with connection.transaction():
        connection.execute(TAKE, {"order": order, "customer": customer, "cents": cents})
        return Client(connection).settle_order(
            {
                "orderId": order,
                "customerId": customer,
                "kind": "purchase",
                "currency": "EUR",
                "amountMinor": cents,
                "lines": [{"line": 1, "type": "access", "days": 30}],
            }
        )


def main() -> None:
    """Take one payment, and say what it led to."""
    order, customer, cents = sys.argv[1:]
    with ExitStack() as stack:
        url = os.environ.get("COUNTERFOIL_DATABASE_URL")
        url = url or stack.enter_context(embedded.serve(Path("var"))).uri
        migrate(url)
        connection = stack.enter_context(psycopg.connect(url))
        connection.execute(CREATE_PAYMENTS)
        settled = take_payment(connection, order, customer, int(cents))
    before = " (it was settled before)" if settled.replayed else ""
    print(f"order {settled.order_id} is settled{before}; job {settled.job_id}")


if __name__ == "__main__":
    main()
