"""What succeeded is final for everyone: the database itself refuses (I6)."""

from uuid import UUID

import psycopg
import pytest

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
