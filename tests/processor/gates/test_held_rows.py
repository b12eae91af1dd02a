"""Rows that wait at a gate lie in nobody's way, and cannot be bent."""

from typing import Any
from uuid import UUID

import psycopg
import pytest

from domain.jobs.gates import WHEN_OPENED
from domain.jobs.outcome import Gated
from infrastructure.processor import low_water
from infrastructure.processor.gates import unparking
from infrastructure.processor.settler import Ended
from infrastructure.processor.turns import statements
from infrastructure.telemetry import listen
from tests.fixtures.database import ON_BOTH_SERVERS, TestDatabase
from tests.fixtures.maintenance import Maintenance
from tests.fixtures.workers import enqueue, history
from tests.processor.rig import Rig
from tests.processor.test_plans import A_LOOK, FILL, a_claim, explained

pytestmark = ON_BOTH_SERVERS

GATED = Gated(gate="panel", cause="maintenance_active")
HOLD_MOST = """
UPDATE counterfoil.jobs
   SET cause = 'parked', run_at = '9999-12-31T00:00:00Z', gate = 'panel'
 WHERE state = 'waiting' AND stream_id::text > '0'
"""


@pytest.fixture
def full(database: TestDatabase) -> psycopg.Connection[Any]:
    """Nearly 10,000 jobs wait at the closed gate of the panel."""
    connection = database.connect()
    connection.execute(FILL.replace("50000", "10000"))
    connection.execute(HOLD_MOST)
    connection.execute("ANALYZE")
    Maintenance(database).begin()
    return connection


def test_what_waits_at_a_closed_gate_is_read_by_nobody(
    full: psycopg.Connection[Any],
) -> None:
    """Not by a round, a look or a claim, however much it is."""
    asked: dict[str, object] = {"enough": unparking._ENOUGH, "all": "all"}  # noqa: SLF001 - plans are a promise

    rounds = explained(full, unparking._OPENED, asked)  # noqa: SLF001 - see above
    looked = explained(full, low_water._LOOK, A_LOOK)  # noqa: SLF001 - see above
    claimed = explained(full, statements.CLAIM, a_claim(10))

    assert "all of jobs" not in rounds
    assert sum(rounds.values()) <= 2
    assert looked == {"jobs_claim": 0}
    assert claimed["jobs_claim"] == 0
    assert "all of jobs" not in claimed


def test_a_page_reads_its_own_rows(full: psycopg.Connection[Any]) -> None:
    # Opened by force: plans are looked at here, not windows.
    full.execute("SET session_replication_role = replica")
    full.execute("UPDATE counterfoil.maintenance SET state = 'closed'")
    asked: dict[str, object] = {
        "gate": "panel",
        "all": "all",
        "after": UUID(int=0),
        "page": 100,
        "mates": 1_000,
    }

    used = explained(full, unparking._PAGE, asked)  # noqa: SLF001 - see above

    assert "all of jobs" not in used
    assert used["jobs_gate"] <= 200
    assert used.get("jobs_serial", 0) <= 200


@pytest.mark.parametrize(
    "change",
    [
        "run_at = counterfoil.now()",
        "cause = NULL",
        "cause = 'after_failure'",
        "state = 'running', cause = NULL, token = 1, owner_boot = counterfoil.uuid7()",
    ],
)
def test_the_database_refuses_a_held_job_that_does_not_wait_for_its_gate(
    parts: Rig, change: str
) -> None:
    enqueue(parts.connection, "noop")
    (held,) = parts.claim()
    parts.settle(held, GATED)

    with pytest.raises(psycopg.errors.CheckViolation, match="jobs_gate"):
        parts.connection.execute(f"UPDATE counterfoil.jobs SET {change}")  # noqa: S608 - from the list above


def test_the_end_of_time_is_readable_in_every_zone(parts: Rig) -> None:
    enqueue(parts.connection, "noop")
    (held,) = parts.claim()
    parts.settle(held, GATED)

    for zone in ("Pacific/Kiritimati", "Etc/GMT+12", "UTC"):
        parts.connection.execute(f"SET TimeZone TO '{zone}'")
        ((run_at,),) = parts.connection.execute(
            "SELECT run_at FROM counterfoil.jobs"
        ).fetchall()
        assert run_at == WHEN_OPENED


def test_i13_a_row_that_the_log_refuses_stops_nobody_else(parts: Rig) -> None:
    """S25: an event behind the back of a held head."""
    bad, good = enqueue(parts.connection, "noop"), enqueue(parts.connection, "noop")
    parts.settler.settle([Ended(each, GATED) for each in parts.claim()])
    parts.connection.execute(
        """
        INSERT INTO counterfoil.events
               (tenant_id, stream_id, version, type, schema, data, meta)
        VALUES ('default', %s, 4, 'job.snoozed', 1, '{}', '{}')
        """,
        (bad,),
    )
    told: list[object] = []

    with listen(lambda event, values: told.append((event, values.get("job")))):
        assert parts.unparker.round() == 1

    assert told == [("unparking refused", str(bad)), ("jobs unparked", None)]
    assert history(parts.connection, good)[-1] == "unparked"
    assert history(parts.connection, bad)[-1] == "snoozed"
