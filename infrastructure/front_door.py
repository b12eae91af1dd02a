"""The front door over a pool: each order in a transaction of its own."""

from collections.abc import Callable
from typing import Final

import psycopg

from application.front_door import (
    OrderBusyError,
    RefundAsked,
    RefundOne,
    Settled,
    SettleOne,
)
from domain.event import JsonObject
from infrastructure.client import Client
from infrastructure.postgres.database import Database, transaction

_REPEATS: Final = 5


def settle_over(database: Database) -> SettleOne:
    """Return what settles one order in a transaction of its own."""

    def settle(request: JsonObject) -> Settled:
        return _asked(database, lambda client: client.settle_order(request))

    return settle


def refund_over(database: Database) -> RefundOne:
    """Return what asks for one refund in a transaction of its own."""

    def refund(request: JsonObject) -> RefundAsked:
        return _asked(database, lambda client: client.refund_order(request))

    return refund


def _asked[Answer](database: Database, ask: Callable[[Client], Answer]) -> Answer:
    for _ in range(_REPEATS):
        try:
            with database.connection() as connection, transaction(connection):
                return ask(Client(connection))
        except (
            psycopg.errors.SerializationFailure,
            psycopg.errors.DeadlockDetected,
        ):
            continue
        except psycopg.errors.LockNotAvailable:
            # A shop that thinks over this order's payment holds up no other order.
            break
    raise OrderBusyError
