"""The rows that SQL writes for a refund are those that its policy would write."""

import json
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings

from application.policies import refund as refund_job
from domain.order.refund import parse
from domain.order.request import RefundRequest
from infrastructure.postgres import codec
from tests.fixtures.database import ON_BOTH_SERVERS
from tests.front_door import rows
from tests.front_door.asked import Request, refunds
from tests.front_door.rows import Connection

pytestmark = [pytest.mark.database, ON_BOTH_SERVERS]

ONE_DATABASE = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    max_examples=100,
)
"""Every example is rolled back, so one database serves all."""


def refund(connection: Connection, request: Request) -> dict[str, Any]:
    (answer,) = rows.one(
        connection, "SELECT counterfoil.refund_order(%s::jsonb)", json.dumps(request)
    )
    return dict(answer)


def canonical(request: RefundRequest) -> Request:
    """Return the refund with every default filled in, as it is hashed."""
    camel = {
        "order_id": "orderId",
        "amount_minor": "amountMinor",
        "correlation_id": "correlationId",
    }
    told = json.loads(codec.encode(request))
    return {camel.get(name, name): value for name, value in told.items()}


@given(request=refunds)
@ONE_DATABASE
def test_a_refund_writes_what_its_policy_says(
    connection: Connection, request: Request
) -> None:
    with connection.transaction(force_rollback=True):
        answer = refund(connection, request)

        written = {table: rows.stored(connection, table) for table in rows.TABLES}
        (event,) = written["events"]
        at = rows.instant(event["recorded_at"])
        accepted = parse(request)
        meta = rows.meta_of(
            connection, accepted.correlation_id, event["meta"]["commit_id"]
        )
        command = refund_job(accepted, at)
        job = rows.born_job(command, UUID(answer["jobId"]), accepted.tenant, meta)

        assert rows.events_in(written["events"]) == rows.events_of(job)
        assert written["jobs"] == [rows.head_of(connection, job)]
        assert rows.folded(connection, job.kind, answer["jobId"]) == job.state
        assert written["outbox"] == written["orders"] == []
        assert_key(connection, written["external_keys"], event, accepted)
        assert answer == {
            "orderId": accepted.order_id,
            "streamId": None,
            "jobId": event["stream_id"],
            "replayed": False,
            "position": event["position"],
        }


def assert_key(
    connection: Connection,
    keys: rows.Rows,
    event: dict[str, Any],
    accepted: RefundRequest,
) -> None:
    (digest,) = rows.one(
        connection,
        "SELECT to_jsonb(sha256(convert_to(%s::jsonb::text, 'UTF8')))",
        json.dumps(canonical(accepted)),
    )

    assert keys == [
        {
            "tenant_id": accepted.tenant,
            "kind": "refund",
            "key": accepted.order_id,
            "request_hash": digest,
            "stream_id": event["stream_id"],
            "job_id": event["stream_id"],
            "position": event["position"],
            "created_at": event["recorded_at"],
        }
    ]
