"""The Python client: the caller's transaction, typed refusals, a kind's defaults."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import msgspec
import psycopg
import pytest
from psycopg.rows import dict_row

from application.front_door import KeyReusedError
from application.job_kinds import JobKind, by_name
from domain.errors import InvalidRequestError
from domain.jobs.outcome import Completed
from infrastructure.client import Client, JobRequest
from tests.fixtures.database import TestDatabase
from tests.front_door import rows
from tests.front_door.asked import Request, put
from tests.front_door.rows import Connection

pytestmark = pytest.mark.database

ORDER: Request = {
    "orderId": "заказ-1",
    "customerId": "c",
    "kind": "purchase",
    "currency": "USD",
    "amountMinor": 1,
    "lines": [{"line": 1, "type": "access", "days": 30}],
}


class Mail(msgspec.Struct):
    """Arguments of a user's own kind."""

    to: str
    at: datetime | None = None


KINDS = by_name(
    JobKind(
        name="mail",
        args=Mail,
        handler=lambda _args, _context: Completed(),
        queue="bulk",
        unique_key=lambda args: f"mail:{args.to}",
        serial_key=lambda args: args.to,
    )
)


def test_it_settles_in_the_callers_transaction_and_never_commits(
    database: TestDatabase,
) -> None:
    shop, watcher = database.connect(), database.connect()

    with shop.transaction(force_rollback=True):
        settled = Client(shop).settle_order(ORDER)
        again = Client(shop).settle_order(ORDER)

        assert shop.info.transaction_status == psycopg.pq.TransactionStatus.INTRANS
        assert rows.counted(watcher)["orders"] == 0

    assert (settled.order_id, settled.replayed, again.replayed) == (
        "заказ-1",
        False,
        True,
    )
    assert again == msgspec.structs.replace(settled, replayed=True)
    assert rows.counted(watcher)["orders"] == 0


def test_the_callers_row_factory_does_not_matter(database: TestDatabase) -> None:
    with psycopg.connect(database.conninfo, row_factory=dict_row) as shop:
        settled = Client(shop).settle_order(ORDER)

    (order,) = rows.stored(database.connect(), "orders")
    assert order["stream_id"] == str(settled.stream_id)


def test_a_wrong_member_is_refused_with_code_and_path(connection: Connection) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        Client(connection).settle_order(put(ORDER, "lines[0].days", 0))

    assert (refused.value.code, refused.value.path, refused.value.detail) == (
        "invalid_member",
        "lines[0].days",
        "an integer from 1 to 36500",
    )


def test_other_content_under_one_id_is_refused_as_such(connection: Connection) -> None:
    Client(connection).settle_order(ORDER)

    with pytest.raises(KeyReusedError) as refused:
        Client(connection).settle_order(put(ORDER, "amountMinor", 2))

    assert refused.value.code == "idempotency_key_reused"


def test_after_a_refusal_behind_a_savepoint_the_transaction_goes_on(
    connection: Connection,
) -> None:
    client = Client(connection)

    with connection.transaction():
        with pytest.raises(InvalidRequestError), connection.transaction():
            client.settle_order(put(ORDER, "currency", "usd"))
        client.settle_order(ORDER)

    assert rows.counted(connection)["orders"] == 1


@pytest.mark.parametrize(
    ("args", "path"),
    [
        ({"a": "x\x00"}, "args.a"),
        ({"a": {"b": ["ok", "\ud800"]}}, "args.a.b[1]"),
        ({"\udfff": 1}, "args.\ufffd"),
        ({"at": datetime(2030, 1, 1)}, "args.at"),  # noqa: DTZ001 -- naive on purpose
        (Mail("x", datetime(2030, 1, 1)), "args.at"),  # noqa: DTZ001 -- as above
        ({"a": float("nan")}, "args.a"),
        ({"a": object()}, "args.a"),
        ({"a": {1, 2}}, "args.a"),
        ({1: "a"}, "args.1"),
    ],
)
def test_what_postgresql_cannot_store_is_refused_before_it_is_sent(
    connection: Connection, args: Mapping[str, object] | msgspec.Struct, path: str
) -> None:
    with connection.transaction():
        with pytest.raises(InvalidRequestError) as refused:
            Client(connection).enqueue("report", args)

        assert refused.value.path == path
        connection.execute("SELECT 1")  # the transaction is as good as before


def test_a_list_within_itself_is_refused(connection: Connection) -> None:
    endless: list[object] = []
    endless.append(endless)

    with pytest.raises(InvalidRequestError):
        Client(connection).enqueue("report", {"a": endless})


def test_queue_and_keys_come_from_the_kinds_entry(connection: Connection) -> None:
    client = Client(connection, KINDS)

    first = client.enqueue("mail", Mail("bob"))
    second = client.enqueue("mail", {"to": "bob"})

    assert second == msgspec.structs.replace(first, duplicate=True)
    (job,) = rows.stored(connection, "jobs")
    assert (job["queue"], job["unique_key"], job["serial_key"]) == (
        "bulk",
        "mail:bob",
        "bob",
    )


def test_what_the_caller_says_wins_over_the_kinds_entry(
    connection: Connection,
) -> None:
    due = datetime(2040, 1, 1, tzinfo=UTC)

    Client(connection, KINDS).enqueue(
        "mail",
        Mail("bob"),
        queue="default",
        unique_key=None,
        run_at=due,
        priority=4,
        max_attempts=7,
        correlation_id="k",
        tenant="t",
        notify=False,
    )

    (job,) = rows.stored(connection, "jobs")
    assert rows.instant(job["run_at"]) == due
    assert job["unique_key"] is None
    assert (job["queue"], job["priority"], job["max_attempts"]) == ("default", 4, 7)
    assert (job["tenant_id"], job["correlation_id"]) == ("t", "k")


def test_many_jobs_are_asked_for_and_answered_in_order(connection: Connection) -> None:
    client = Client(connection, KINDS)
    due = datetime(2040, 1, 1, tzinfo=UTC)

    answers = client.enqueue_many(
        [
            {"kind": "report", "run_at": due, "max_attempts": 2, "notify": False},
            {"kind": "mail", "args": Mail("bob"), "priority": 3},
            {"kind": "mail", "args": {"to": "anna"}, "queue": "default"},
            {"kind": "mail", "args": Mail("bob")},
        ]
    )

    assert [each.duplicate for each in answers] == [False, False, False, True]
    assert answers[3] == msgspec.structs.replace(answers[1], duplicate=True)
    jobs = {job["stream_id"]: job for job in rows.stored(connection, "jobs")}
    assert len(jobs) == 3
    report, bob, anna = (jobs[str(each.job_id)] for each in answers[:3])
    assert (report["kind"], report["max_attempts"]) == ("report", 2)
    assert rows.instant(report["run_at"]) == due
    assert (bob["queue"], bob["priority"], bob["unique_key"]) == ("bulk", 3, "mail:bob")
    assert (anna["queue"], anna["args"]) == ("default", {"to": "anna"})
    assert client.enqueue("mail", Mail("anna")) == msgspec.structs.replace(
        answers[2], duplicate=True
    )


def test_many_may_be_none(connection: Connection) -> None:
    assert Client(connection).enqueue_many([]) == []


@pytest.mark.parametrize(
    ("wrong", "path"),
    [
        ({"kind": "Mail"}, "[1].kind"),
        ({"kind": "mail", "args": {"to": 5}}, "[1].args"),
        ({"kind": "report", "args": {"a": {"b": "x\x00"}}}, "[1].args.a.b"),
        ({"kind": "report", "run_at": datetime(2030, 1, 1)}, "[1].runAt"),  # noqa: DTZ001 -- naive on purpose
        ({"kind": "report", "priority": 5}, "[1].priority"),
    ],
)
def test_one_wrong_job_of_many_is_refused_by_its_index_and_none_is_written(
    connection: Connection, wrong: JobRequest, path: str
) -> None:
    right: JobRequest = {"kind": "report"}

    with pytest.raises(InvalidRequestError) as refused:
        Client(connection, KINDS).enqueue_many([right, wrong, right])

    assert (refused.value.code, refused.value.path) == ("invalid_member", path)
    assert rows.counted(connection)["jobs"] == 0


def test_arguments_that_do_not_fit_the_kind_are_refused(
    connection: Connection,
) -> None:
    with pytest.raises(InvalidRequestError, match="args"):
        Client(connection, KINDS).enqueue("mail", {"to": 5})

    assert rows.counted(connection)["jobs"] == 0


@pytest.mark.parametrize(
    "at",
    [
        datetime(9999, 12, 31, 23, tzinfo=timezone(timedelta(hours=-3))),
        datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=3))),
        datetime(1999, 1, 1, tzinfo=UTC),
    ],
)
def test_an_instant_out_of_bounds_is_refused(
    connection: Connection, at: datetime
) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        Client(connection).enqueue("report", run_at=at)

    assert refused.value.path == "runAt"


def test_another_error_of_the_database_keeps_the_drivers_class(
    database: TestDatabase,
) -> None:
    connection: psycopg.Connection[Any] = database.connect()
    connection.execute("SET default_transaction_read_only = on")

    with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        Client(connection).settle_order(ORDER)
