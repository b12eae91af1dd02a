"""S23 by the Python client: every member × every value that no member is made for."""

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any, cast

import psycopg
import pytest

from counterfoil import Client, CounterfoilError, InvalidRequestError, JobKind
from domain.jobs.outcome import Completed
from tests.fixtures.database import TestDatabase
from tests.fixtures.workers import Args
from tests.hostile.values import OBJECTS, nested, paths, replaced

pytestmark = pytest.mark.database

LATER = datetime(2030, 1, 1, tzinfo=UTC)

type Request = dict[str, Any]

ORDER: Request = {
    "orderId": "o",
    "customerId": "c",
    "tenant": "t",
    "slot": 1,
    "kind": "purchase",
    "currency": "USD",
    "amountMinor": 1,
    "discountMinor": 0,
    "effectiveAt": None,
    "correlationId": "x",
    "notify": True,
    "lines": [
        {
            "line": 1,
            "type": "access",
            "endsAt": "2030-01-01T00:00:00Z",
            "graceSeconds": 0,
            "trafficBytes": 1,
            "deviceLimit": 1,
            "squadIds": ["0f8fad5b-d9cb-469f-a165-70867728950e"],
            "resetTraffic": True,
        }
    ],
}
REFUND: Request = {
    "orderId": "o",
    "reason": "charged back",
    "tenant": "t",
    "lines": [1],
    "amountMinor": 1,
    "correlationId": "x",
    "notify": True,
}
JOB: Request = {
    "kind": "k",
    "args": {"a": 1},
    "tenant": "t",
    "queue": "q",
    "priority": 1,
    "run_at": LATER,
    "unique_key": "u",
    "serial_key": "s",
    "concurrency_limit": 2,
    "max_attempts": 1,
    "deadline": LATER,
    "correlation_id": "x",
    "notify": True,
}
NAMED = {
    "run_at": "runAt",
    "unique_key": "uniqueKey",
    "serial_key": "serialKey",
    "concurrency_limit": "concurrencyLimit",
    "max_attempts": "maxAttempts",
    "correlation_id": "correlationId",
}
KINDS = {"k": JobKind(name="k", args=Args, handler=lambda *_: Completed())}

# What a member takes by its own rules: of every value that is named here, and no other.
TEXT = frozenset({"an id", "year 9999"})
NUMBER = frozenset({"an enum"})
FITS: dict[str, frozenset[str]] = {
    **dict.fromkeys(("orderId", "customerId", "tenant", "correlationId"), TEXT),
    **dict.fromkeys(("correlation_id", "unique_key", "serial_key"), TEXT),
    "reason": TEXT,
    **dict.fromkeys(("slot", "priority", "max_attempts"), NUMBER),
    "concurrency_limit": NUMBER,
    **dict.fromkeys(("amountMinor", "discountMinor"), NUMBER),
    **dict.fromkeys(("lines[0]", "lines[0].line", "lines[0].graceSeconds"), NUMBER),
    **dict.fromkeys(("lines[0].trafficBytes", "lines[0].deviceLimit"), NUMBER),
    "lines": frozenset({"a tuple"}),
    "args": frozenset({"a struct"}),
    "args.a": frozenset(
        {
            "a large float",
            "a fraction",
            "less than nothing",
            "year 9999",
            "an enum",
            "an id",
            "a tuple",
        }
    ),
}

ENTRIES: dict[str, tuple[Request, Callable[[Client, Request], object]]] = {
    "settle_order": (ORDER, lambda client, asked: client.settle_order(asked)),
    "refund_order": (REFUND, lambda client, asked: client.refund_order(asked)),
    "enqueue": (JOB, lambda client, asked: _enqueued(client, **asked)),
    "enqueue_many": (
        JOB,
        lambda client, asked: client.enqueue_many([{"kind": "ok"}, cast("Any", asked)]),
    ),
}


def _enqueued(client: Client, kind: str, args: Any, **options: Any) -> object:  # noqa: ANN401 - on purpose
    return client.enqueue(kind, args, **options)


@pytest.mark.parametrize("entry", ENTRIES)
def test_s23_what_no_member_is_made_for_is_refused_by_its_path(
    database: TestDatabase, entry: str
) -> None:
    right, ask = ENTRIES[entry]
    connection = database.connect()
    client = Client(connection)
    wrong: list[object] = []
    for path in paths(right):
        where = NAMED.get(path, path)
        where = f"[1].{where}" if entry == "enqueue_many" else where
        for name, value in OBJECTS.items():
            asked = cast("Request", replaced(right, path, value))
            said = _said(connection, partial(ask, client, asked))
            if name in FITS.get(path, ()):
                continue
            if not said.startswith((where, where.rpartition(".")[0] or where)):
                wrong.append((path, name, said))
    assert wrong == []


def _said(connection: psycopg.Connection[Any], ask: Callable[[], object]) -> str:
    """Return the path that was refused; nothing of it is kept."""
    try:
        with connection.transaction(force_rollback=True):
            ask()
    except InvalidRequestError as error:
        is_short = len(error.detail) > 0 and len(str(error)) < 700
        return error.path if is_short else f"too long: {len(str(error))}"
    return "accepted"


@pytest.mark.parametrize("request_", [None, 1, "k", [], {"args": {}}])
def test_what_is_no_request_among_many_is_named_by_its_number(
    database: TestDatabase, request_: object
) -> None:
    client = Client(database.connect(), KINDS)

    with pytest.raises(InvalidRequestError) as refused:
        client.enqueue_many([{"kind": "k"}, cast("Any", request_)])

    assert refused.value.path.startswith("[1]")


@pytest.mark.parametrize("kind", [[], {}, nested(3), None, 7])
def test_a_kind_that_is_no_text_is_refused_as_such(
    database: TestDatabase, kind: object
) -> None:
    client = Client(database.connect(), KINDS)

    with pytest.raises(InvalidRequestError) as refused:
        client.enqueue(cast("str", kind))

    assert refused.value.path.startswith("kind")


@pytest.mark.parametrize("amount", [1.0, 1e16, 12345678901234567.0, -0.0])
def test_no_amount_passes_through_a_float(
    database: TestDatabase, amount: float
) -> None:
    """Of 1e16 and more nobody could tell afterwards that it had been rounded."""
    client = Client(database.connect())

    for ask in (
        lambda: client.settle_order(ORDER | {"amountMinor": amount}),
        lambda: client.refund_order(REFUND | {"amountMinor": amount}),
    ):
        with pytest.raises(CounterfoilError) as refused:
            ask()
        assert str(refused.value) == (
            "invalid_member: amountMinor: an integer, no float"
        )
