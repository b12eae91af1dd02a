"""What succeeded is final for everyone: the database itself refuses (I6)."""

from uuid import UUID

import psycopg
import pytest

from infrastructure.client import Client
from tests.fixtures.database import ON_BOTH_SERVERS
from tests.operators.world import GENERIC, SERVED, World, bring

pytestmark = [pytest.mark.database, pytest.mark.usefixtures("heads_equal_folds")]

# What somebody with rights of his own might try: the fact alone, or the head alone.
_RETRIED = """
INSERT INTO counterfoil.events (tenant_id, stream_id, version, type, schema, data, meta)
SELECT tenant_id, stream_id, version + 1, %(tag)s, 1, '{}', meta
  FROM counterfoil.events
 WHERE stream_id = %(id)s
 ORDER BY version DESC
 LIMIT 1
"""
_REVIVED = """
INSERT INTO counterfoil.jobs
       (stream_id, tenant_id, version, state, kind, queue, priority, run_at, attempt,
        parkings, serial_order, cancel_requested, correlation_id, args)
VALUES (%(id)s, 'default', 4, 'waiting', 'report', 'default', 1, counterfoil.now(), 0,
        0, 0, false, 'x', '{}')
"""
_REOPENED = """
UPDATE counterfoil.operations SET state = 'pending' WHERE stream_id = %(id)s
"""


def refused(world: World, statement: str, id_: UUID, tag: str = "") -> None:
    with pytest.raises(psycopg.DatabaseError) as error:
        world.connection.execute(statement.encode(), {"id": id_, "tag": tag})
    assert error.value.sqlstate == "CF409"
    assert (error.value.diag.message_primary or "").startswith("state_conflict")


@ON_BOTH_SERVERS
def test_a_succeeded_job_is_revived_by_no_statement(world: World) -> None:
    """I6, S30."""
    job, _ = bring(world, "succeeded", GENERIC)

    refused(world, _RETRIED, job, "job.retried")
    refused(world, _REVIVED, job)

    assert world.state_of(job) == "gone"


@ON_BOTH_SERVERS
def test_a_succeeded_operation_is_reopened_by_no_statement(world: World) -> None:
    """I6, S30."""
    _, operation = bring(world, "succeeded", SERVED)
    assert operation is not None

    refused(world, _RETRIED, operation, "fulfillment.retried")
    refused(world, _REOPENED, operation)


@ON_BOTH_SERVERS
def test_a_cancelled_operation_is_reopened_by_no_statement(world: World) -> None:
    """I6: a cancelled operation never comes back."""
    _, operation = bring(world, "cancelled", SERVED)
    assert operation is not None

    refused(world, _RETRIED, operation, "fulfillment.retried")
    refused(world, _REOPENED, operation)


_BURIED = """
INSERT INTO counterfoil.jobs_dead
       (stream_id, tenant_id, version, state, kind, queue, priority, run_at, attempt,
        parkings, serial_order, code, correlation_id, args)
VALUES (%(id)s, 'default', 3, 'discarded', 'report', 'default', 1, counterfoil.now(), 0,
        0, 0, 'x', 'x', '{}')
"""
_EXHUMED = "DELETE FROM counterfoil.jobs_dead WHERE stream_id = %(id)s"


@ON_BOTH_SERVERS
def test_a_success_is_not_revived_out_of_a_made_up_grave(world: World) -> None:
    """I6: bury it by hand, exhume it, put it back: the log still knows better."""
    job, _ = bring(world, "succeeded", GENERIC)

    with world.connection.transaction(force_rollback=True):
        for step in (_BURIED, _EXHUMED):
            world.connection.execute(step.encode(), {"id": job})
        refused(world, _REVIVED, job)

    assert world.state_of(job) == "gone"


@ON_BOTH_SERVERS
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE counterfoil.orders SET amount_minor = 7",
        "UPDATE counterfoil.orders SET state = 'paid', fulfilled_by = NULL",
        "UPDATE counterfoil.orders SET state = 'refunded', amount_minor = 7",
        "DELETE FROM counterfoil.orders",
        "DELETE FROM counterfoil.operations",
        "DELETE FROM counterfoil.entitlements",
        "DELETE FROM counterfoil.external_keys",
        "UPDATE counterfoil.external_keys SET request_hash = 'x'",
        "TRUNCATE counterfoil.orders",
        "TRUNCATE counterfoil.operations",
        "TRUNCATE counterfoil.external_keys",
    ],
)
def test_what_was_fulfilled_is_neither_changed_nor_removed(
    statement: str, world: World
) -> None:
    """I6, and I5: a business key is for ever."""
    world.operation()
    topup = {"orderId": "t", "customerId": "c", "kind": "topup", "currency": "USD"}
    Client(world.connection).settle_order(topup | {"amountMinor": 1})

    with pytest.raises(psycopg.DatabaseError) as error:
        world.connection.execute(statement.encode())

    assert error.value.sqlstate == "CF409"


@ON_BOTH_SERVERS
def test_a_refund_leaves_fulfilled_and_nothing_leaves_a_refund(world: World) -> None:
    """I6: the one way out of fulfilled, and no way back."""
    topup = {"orderId": "t", "customerId": "c", "kind": "topup", "currency": "USD"}
    Client(world.connection).settle_order(topup | {"amountMinor": 1})

    with world.connection.transaction(force_rollback=True):
        world.connection.execute("UPDATE counterfoil.orders SET state = 'refunded'")

        with pytest.raises(psycopg.DatabaseError) as error:
            world.connection.execute("UPDATE counterfoil.orders SET version = 9")

    assert error.value.sqlstate == "CF409"
