"""I5 and S12: one effect per key, whoever comes second, and however."""

import json
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Barrier
from typing import Any

import psycopg
import pytest

from tests.fixtures.database import ON_BOTH_SERVERS, TestDatabase
from tests.front_door import rows
from tests.front_door.asked import Request, put
from tests.front_door.conftest import wait_until_blocked
from tests.front_door.rows import Connection

pytestmark = [pytest.mark.database, ON_BOTH_SERVERS]

SETTLE = "SELECT counterfoil.settle_order(%s::jsonb)"
ENQUEUE = "SELECT counterfoil.enqueue(%s::jsonb)"
ORDER: Request = {
    "orderId": "o",
    "customerId": "c",
    "kind": "purchase",
    "currency": "USD",
    "amountMinor": 1,
    "lines": [{"line": 1, "type": "access", "days": 30}],
}
HASH = "ed83a8359f510eaee2e04e8ab5c6a6a0637a3907f76549dfb0613102b06a5555"
"""Of ORDER, as it was hashed before orders could be of goods."""
JOB: Request = {"kind": "mail", "uniqueKey": "k"}
# As `job.attempt_failed` leaves a head: it waits for its next attempt.
FAIL_ONCE = """
UPDATE counterfoil.jobs
   SET cause = 'after_failure', attempt = 1, run_at = counterfoil.now() + interval '1 h'
"""

type Ask = Callable[[Connection], dict[str, Any]]


def settle(connection: Connection, request: Request = ORDER) -> dict[str, Any]:
    (answer,) = rows.one(connection, SETTLE, json.dumps(request))
    return dict(answer)


def enqueue(connection: Connection) -> dict[str, Any]:
    (answer,) = rows.one(connection, ENQUEUE, json.dumps(JOB))
    return dict(answer)


def test_an_order_without_goods_has_the_hash_that_it_has_always_had(
    connection: Connection,
) -> None:
    """I5: whoever settled before goods were sold is answered, not refused."""
    settle(connection)

    assert rows.one(
        connection, "SELECT encode(request_hash, 'hex') FROM counterfoil.external_keys"
    ) == (HASH,)


def overlapping(
    database: TestDatabase, ask: Ask, *, commit: bool
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return both answers of two transactions, the second of which had to wait."""
    first, second, watcher = (database.connect() for _ in range(3))
    with ThreadPoolExecutor(1) as threads:
        with first.transaction(force_rollback=not commit):
            early = ask(first)
            late: Future[dict[str, Any]] = threads.submit(ask, second)
            wait_until_blocked(watcher, second.info.backend_pid, first.info.backend_pid)
        return early, late.result(timeout=20)


def test_i5_the_same_order_again_answers_what_was_stored(
    connection: Connection,
) -> None:
    first = settle(connection)
    before = rows.counted(connection)

    shuffled = dict(reversed(ORDER.items())) | {"slot": 1, "discountMinor": 0}
    shuffled["notify"] = False  # how it is said is no part of the order
    again = settle(connection, shuffled)

    assert again == first | {"replayed": True}
    assert rows.counted(connection) == before


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("amountMinor", 2),
        ("customerId", "d"),
        ("kind", "renewal"),
        ("lines[0].days", 31),
        ("correlationId", "x"),
    ],
)
def test_i5_other_content_under_the_same_order_id_is_refused(
    connection: Connection, path: str, value: object
) -> None:
    settle(connection)
    before = rows.counted(connection)

    with pytest.raises(psycopg.DatabaseError) as refused:
        settle(connection, put(ORDER, path, value))

    assert refused.value.sqlstate == "CF409"
    assert refused.value.diag.message_hint == "idempotency_key_reused"
    assert (refused.value.diag.message_primary or "").startswith(
        "idempotency_key_reused:"
    )
    assert rows.counted(connection) == before


def test_i5_another_tenant_has_order_ids_of_its_own(connection: Connection) -> None:
    first = settle(connection)

    other = settle(connection, put(ORDER, "tenant", "other"))

    assert other["replayed"] is False
    assert other["streamId"] != first["streamId"]


def test_i5_fifty_settlements_at_once_make_one_order(database: TestDatabase) -> None:
    together = Barrier(50)

    def ask(connection: Connection) -> dict[str, Any]:
        together.wait(timeout=30)
        return settle(connection)

    connections = [database.connect() for _ in range(50)]
    with ThreadPoolExecutor(50) as threads:
        answers = list(threads.map(ask, connections))

    assert sorted(answer["replayed"] for answer in answers) == [False] + [True] * 49
    assert len({answer["streamId"] for answer in answers}) == 1
    assert rows.counted(connections[0]) == {
        "events": 2,
        "outbox": 1,
        "external_keys": 1,
        "orders": 1,
        "jobs": 1,
        "jobs_dead": 0,
    }


@pytest.mark.parametrize("ask", [settle, enqueue])
def test_s12_after_a_rollback_the_second_one_is_the_first(
    database: TestDatabase, ask: Ask
) -> None:
    early, late = overlapping(database, ask, commit=False)

    assert late.get("duplicate", late.get("replayed")) is False
    assert late["jobId"] != early["jobId"]
    (job,) = rows.stored(database.connect(), "jobs")
    assert job["stream_id"] == late["jobId"]


@pytest.mark.parametrize("ask", [settle, enqueue])
def test_s12_after_a_commit_the_second_one_gets_the_first(
    database: TestDatabase, ask: Ask
) -> None:
    early, late = overlapping(database, ask, commit=True)

    assert late.get("duplicate", late.get("replayed")) is True
    assert (late["jobId"], late["position"]) == (early["jobId"], early["position"])
    assert len(rows.stored(database.connect(), "jobs")) == 1


def test_s12_a_job_that_waits_to_be_retried_is_the_duplicate(
    connection: Connection,
) -> None:
    first = enqueue(connection)
    connection.execute(FAIL_ONCE)

    assert enqueue(connection) == first | {"duplicate": True}
    assert len(rows.stored(connection, "jobs")) == 1


def test_s12_a_finished_job_frees_its_key(connection: Connection) -> None:
    first = enqueue(connection)
    connection.execute("DELETE FROM counterfoil.jobs")  # as a success does

    second = enqueue(connection)

    assert second["duplicate"] is False
    assert second["jobId"] != first["jobId"]
