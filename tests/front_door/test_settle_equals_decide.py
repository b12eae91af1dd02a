"""The rows that SQL writes are the rows that the deciders would write."""

import json
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings

from application.policies import jobs_after
from domain.order.parse import parse
from domain.order.request import SettleRequest
from domain.stream import StreamKind
from infrastructure.postgres import codec
from tests.fixtures.database import ON_BOTH_SERVERS
from tests.front_door import rows
from tests.front_door.asked import Request, settlements
from tests.front_door.rows import Connection

pytestmark = [pytest.mark.database, ON_BOTH_SERVERS]

ONE_DATABASE = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    max_examples=100,
)
"""Every example is rolled back, so one database serves all."""


def settle(connection: Connection, request: Request) -> dict[str, Any]:
    (answer,) = rows.one(
        connection,
        "SELECT counterfoil.settle_order(%s::jsonb)",
        json.dumps(request),
    )
    return dict(answer)


def canonical(request: SettleRequest) -> Request:
    """Return the settlement with every default filled in, as it is hashed."""
    line = {
        "line": "line",
        "type": "type",
        "days": "days",
        "ends_at": "endsAt",
        "grace_seconds": "graceSeconds",
        "traffic_bytes": "trafficBytes",
        "device_limit": "deviceLimit",
        "squad_ids": "squadIds",
        "reset_traffic": "resetTraffic",
        "cost_minor": "costMinor",
        "price_minor": "priceMinor",
    }
    told = json.loads(codec.encode(request))
    told["lines"] = [
        {line.get(name, name): value for name, value in one.items()}
        for one in (*told["lines"], *told.pop("addons"))
    ]
    camel = {
        "order_id": "orderId",
        "customer_id": "customerId",
        "amount_minor": "amountMinor",
        "discount_minor": "discountMinor",
        "effective_at": "effectiveAt",
        "correlation_id": "correlationId",
    }
    return {camel.get(name, name): value for name, value in told.items()}


@given(request=settlements)
@ONE_DATABASE
def test_a_settlement_writes_what_decide_and_the_policies_say(
    connection: Connection, request: Request
) -> None:
    with connection.transaction(force_rollback=True):
        answer = settle(connection, request)

        written = {table: rows.stored(connection, table) for table in rows.TABLES}
        first = written["events"][0]
        at = rows.instant(first["recorded_at"])
        accepted = parse(request, at)
        meta = rows.meta_of(
            connection, accepted.correlation_id, first["meta"]["commit_id"]
        )
        order = rows.born_order(accepted, UUID(answer["streamId"]), meta)
        commands = jobs_after(order.stream_id, order.events, at)
        jobs = [
            rows.born_job(
                command,
                UUID(answer["jobId"]),
                accepted.tenant,
                rows.caused_by(meta, first["position"]),
            )
            for command in commands
        ]
        births = [order, *jobs]

        assert rows.events_in(written["events"]) == [
            event for birth in births for event in rows.events_of(birth)
        ]
        assert rows.messages_in(written["outbox"]) == [
            message for birth in births for message in rows.messages_of(birth)
        ]
        assert written["orders"] == [rows.head_of(connection, order)]
        assert written["jobs"] == [rows.head_of(connection, job) for job in jobs]
        for birth in births:
            assert (
                rows.folded(connection, birth.kind, str(birth.stream_id)) == birth.state
            )
        assert_keys(connection, written, accepted, answer)


def assert_keys(
    connection: Connection,
    written: dict[str, rows.Rows],
    accepted: SettleRequest,
    answer: dict[str, Any],
) -> None:
    events, (message,) = written["events"], written["outbox"]
    (digest,) = rows.one(
        connection,
        "SELECT to_jsonb(sha256(convert_to(%s::jsonb::text, 'UTF8')))",
        json.dumps(canonical(accepted)),
    )
    at = events[0]["recorded_at"]
    last = events[-1]["position"]

    assert written["external_keys"] == [
        {
            "tenant_id": accepted.tenant,
            "kind": "order",
            "key": accepted.order_id,
            "request_hash": digest,
            "stream_id": events[0]["stream_id"],
            "job_id": answer["jobId"],
            "position": last,
            "created_at": at,
        }
    ]
    assert_answer(events, message, accepted, answer)


def assert_answer(
    events: rows.Rows,
    message: dict[str, Any],
    accepted: SettleRequest,
    answer: dict[str, Any],
) -> None:
    assert answer == {
        "orderId": accepted.order_id,
        "streamId": events[0]["stream_id"],
        "jobId": None if accepted.kind == "topup" else events[1]["stream_id"],
        "replayed": False,
        "position": events[-1]["position"],
    }
    assert (message["position"], message["published_at"]) == (
        events[0]["position"],
        None,
    )
    assert {row["tenant_id"] for row in (*events, message)} == {accepted.tenant}
    at = events[0]["recorded_at"]
    assert {row["recorded_at"] for row in (*events, message)} == {at}
    assert {
        UUID(told).version
        for told in (
            message["id"],
            events[0]["meta"]["commit_id"],
            *(row["stream_id"] for row in events),
        )
    } == {7}


def test_a_topup_owes_nothing(connection: Connection) -> None:
    answer = settle(
        connection,
        {
            "orderId": "t",
            "customerId": "c",
            "kind": "topup",
            "currency": "USD",
            "amountMinor": 5,
        },
    )

    assert answer["jobId"] is None
    assert rows.stored(connection, "jobs") == []
    (order,) = rows.stored(connection, "orders")
    assert (order["state"], order["kind"]) == ("fulfilled", "topup")
    state = rows.folded(connection, StreamKind.ORDER, answer["streamId"])
    assert state.version == 1
