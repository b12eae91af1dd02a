"""The front door over a pool: each request in a transaction of its own.

key of the request ─► who asks ─► what is asked ─► the key's answer ─► COMMIT

Repeated after a race, and after a COMMIT whose answer was lost if a key tells whether
it was done: the request's own, or that of an order.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

import msgspec
import psycopg

from application.front_door import (
    Enqueued,
    KeyBusyError,
    OrderBusyError,
    RefundAsked,
    RefundOne,
    Settled,
    SettleOne,
)
from application.intake.intake import Intake
from application.intake.port import BEFORE, JOB, ORDER, Asking
from application.operators.refusals import Refusals
from application.unit import UnitOfWork
from domain.event import JsonObject
from infrastructure.client import Client
from infrastructure.errors import CommitUnknownError, DatabaseUnavailableError
from infrastructure.ids import new_id
from infrastructure.once.keys import keep, require
from infrastructure.postgres.database import Database, transaction
from infrastructure.telemetry import measure
from infrastructure.telemetry.measures import JobsEnqueued

_FIRST: Final = "critical"
_DEFAULT: Final = "default"
_FANOUT: Final = "order_fanout"
_REFUND: Final = "order_refund"

_REPEATS: Final = 5
_PATIENCE_SECONDS: Final = 10.0
"""For a database that is away, as the batch store has it."""
_LONGEST_PAUSE_SECONDS: Final = 1.0

# Until the transaction ends, and for the births of this one alone.
_ASKED_BY: Final = "SELECT set_config('counterfoil.asked_by', %(by)s, true)"


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


def intake_over(database: Database, units: UnitOfWork) -> Intake:
    """Return what settles, refunds and enqueues for whoever may."""
    return Intake(PostgresFrontDoor(database), Refusals(units, new_id))


@dataclass(frozen=True, slots=True)
class PostgresFrontDoor:
    """Asks on behalf of others; see `FrontDoor`."""

    database: Database

    def settle_order(self, request: JsonObject, asking: Asking) -> Settled:
        """See `FrontDoor.settle_order`."""
        settled = _asked(
            self.database,
            lambda client: client.settle_order(request),
            asking,
            lambda settled: _made(ORDER, settled.stream_id, settled.replayed),
        )
        if settled.job_id is not None and not settled.replayed:
            measure(JobsEnqueued(_FIRST, _FANOUT, "settlement"))
        return settled

    def refund_order(self, request: JsonObject, asking: Asking) -> RefundAsked:
        """See `FrontDoor.refund_order`."""
        asked = _asked(
            self.database,
            lambda client: client.refund_order(request),
            asking,
            lambda asked: _made(JOB, asked.job_id, asked.replayed),
        )
        if not asked.replayed:
            measure(JobsEnqueued(_FIRST, _REFUND, "refund"))
        return asked

    def enqueue(self, request: JsonObject, asking: Asking) -> Enqueued:
        """See `FrontDoor.enqueue`."""
        try:
            enqueued = _asked(
                self.database,
                lambda client: client.enqueue_request(request),
                asking,
                lambda enqueued: _made(JOB, enqueued.job_id, enqueued.duplicate),
                is_keyed=asking.once is not None,
            )
        except OrderBusyError as error:
            detail = "another transaction holds this key just now; try it again"
            path = "uniqueKey"
            raise KeyBusyError(path, detail) from error
        queue, kind = str(request.get("queue") or _DEFAULT), str(request.get("kind"))
        measure(JobsEnqueued(queue, kind, "enqueue", enqueued.duplicate))
        return enqueued


def _made(kind: str, id_: UUID, was_before: bool) -> tuple[str, str]:  # noqa: FBT001 - of its answers
    return BEFORE if was_before else kind, str(id_)


def _asked[Answer](
    database: Database,
    ask: Callable[[Client], Answer],
    asking: Asking | None = None,
    made: Callable[[Answer], tuple[str, str]] | None = None,
    *,
    is_keyed: bool = True,
) -> Answer:
    is_in_doubt = False
    races = 0
    pause = 0.01
    give_up_at = time.monotonic() + _PATIENCE_SECONDS
    while True:
        try:
            with database.connection() as connection, transaction(connection):
                if asking is None or made is None:
                    return ask(Client(connection))
                return _once(connection, ask, asking, made, waits=is_in_doubt)
        except DatabaseUnavailableError as error:
            is_unknown = isinstance(error, CommitUnknownError)
            is_in_doubt |= is_unknown
            # Without a key nobody can tell whether there is a job of it.
            if (is_unknown and not is_keyed) or time.monotonic() >= give_up_at:
                raise
            pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)
            time.sleep(pause)
        except (
            psycopg.errors.SerializationFailure,
            psycopg.errors.DeadlockDetected,
        ) as error:
            races += 1
            if races == _REPEATS:
                raise OrderBusyError from error
        except psycopg.errors.LockNotAvailable as error:
            # A shop that thinks over this order's payment holds up no other order.
            raise OrderBusyError from error


def _once[Answer](
    connection: psycopg.Connection[Any],
    ask: Callable[[Client], Answer],
    asking: Asking,
    made: Callable[[Answer], tuple[str, str]],
    *,
    waits: bool,
) -> Answer:
    once = asking.once
    taken = None if once is None else require(connection, once, waits=waits)
    connection.execute(_ASKED_BY, {"by": _told(asking)})
    answer = ask(Client(connection))
    if taken is not None:
        keep(connection, taken, taken.once.making(*made(answer)).answer())
    return answer


def _told(asking: Asking) -> str:
    """Return who asks, as the front door's functions write it beside the events."""
    members: dict[str, object] = msgspec.to_builtins(asking.meta)
    del members["correlation_id"]  # the request's own
    return msgspec.json.encode(members).decode()
