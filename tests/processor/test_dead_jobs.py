"""Mechanisms 19, I6: dead jobs await a person, and no statement revives a success."""

from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest
from psycopg import sql

from application.unit import Refused, Written
from domain.jobs.aggregate import RetryDead
from domain.jobs.outcome import Completed, Fail
from domain.stream import Ref, StreamKind
from infrastructure.processor.leases import Held
from tests.fixtures.database import ON_BOTH_SERVERS, TestDatabase
from tests.fixtures.workers import enqueue, history
from tests.processor.rig import Rig
from tests.store.groups import births, commanding, job_birth, step

pytestmark = [ON_BOTH_SERVERS, pytest.mark.usefixtures("heads_equal_folds")]

RETRY = commanding(RetryDead(run_at=datetime(2026, 1, 1, tzinfo=UTC)))


def ended(parts: Rig, **request: Any) -> tuple[Held, Ref]:  # noqa: ANN401 - members of a request
    enqueue(parts.connection, "noop", **request)
    (held,) = parts.claim()
    return held, Ref(StreamKind.JOB, held.job.id)


def rows(parts: Rig) -> tuple[int, int]:
    (row,) = parts.connection.execute(
        """
        SELECT (SELECT count(*) FROM counterfoil.jobs),
               (SELECT count(*) FROM counterfoil.jobs_dead)
        """
    ).fetchall()
    return row[0], row[1]


def test_a_dead_job_moves_with_all_that_it_was_born_with(parts: Rig) -> None:
    held, _ = ended(
        parts, args={"n": 7}, uniqueKey="u", serialKey="s", correlationId="c"
    )

    parts.settle(held, Fail(code="no"))

    assert rows(parts) == (0, 1)
    found = parts.connection.execute(
        """
        SELECT state, code, error_code, args, unique_key, serial_key, correlation_id
          FROM counterfoil.jobs_dead
        """
    ).fetchall()
    assert found == [("discarded", "permanent", "no", {"n": 7}, "u", "s", "c")]


def test_a_retry_brings_it_back_whole_with_its_budget_reset(parts: Rig) -> None:
    held, ref = ended(parts, args={"n": 7}, uniqueKey="u", correlationId="c")
    parts.settle(held, Fail(code="no"))

    (result,) = parts.store.commit([step(ref, make=RETRY)])

    assert isinstance(result, Written)
    assert rows(parts) == (1, 0)
    (again,) = parts.claim()
    assert (again.job.attempt, again.job.args) == (1, held.job.args)
    assert (again.job.correlation_id, again.job.unique_key) == ("c", "u")
    assert again.job.token > held.job.token


def test_a_retry_beside_a_live_twin_is_refused_and_stays_dead(parts: Rig) -> None:
    """S19."""
    held, ref = ended(parts, uniqueKey="u")
    parts.settle(held, Fail(code="no"))
    parts.store.commit([births(job_birth(unique_key="u"))])

    assert parts.store.commit([step(ref, make=RETRY)]) == [Refused("conflict")]
    assert rows(parts) == (1, 1)


def test_two_operators_retry_once(database: TestDatabase, parts: Rig) -> None:
    held, ref = ended(parts)
    parts.settle(held, Fail(code="no"))
    del database

    assert isinstance(parts.store.commit([step(ref, make=RETRY)])[0], Written)
    assert history(parts.connection, ref.id)[-1] == "retried"
    assert rows(parts) == (1, 0)


REVIVALS = {
    "a head out of nowhere": """
        INSERT INTO counterfoil.jobs (stream_id, tenant_id, version, state, kind, queue,
               priority, run_at, attempt, parkings, serial_order, cancel_requested,
               correlation_id, args)
        VALUES (%(id)s, 'default', 4, 'waiting', 'noop', 'default', 1,
                counterfoil.now(), 0, 0, 0, false, 'c', '{}')
    """,
    "an event": """
        INSERT INTO counterfoil.events
               (tenant_id, stream_id, version, type, schema, data, meta)
        VALUES ('default', %(id)s, 4, 'job.retried', 1, '{}', '{}')
    """,
    "a row of the dead": """
        WITH dead AS (
            INSERT INTO counterfoil.jobs_dead (stream_id, tenant_id, version, state,
                   kind, queue, priority, run_at, attempt, parkings, serial_order,
                   code, correlation_id, args)
            VALUES (%(id)s, 'default', 3, 'succeeded', 'noop', 'default', 1,
                    counterfoil.now(), 0, 0, 0, 'x', 'c', '{}'))
        SELECT 1
    """,
}


@pytest.mark.parametrize("how", REVIVALS)
def test_i6_the_database_itself_refuses_to_revive_a_success(
    how: str, parts: Rig
) -> None:
    held, ref = ended(parts)
    parts.settle(held, Completed())

    with pytest.raises(psycopg.Error) as refused:
        parts.connection.execute(REVIVALS[how], {"id": ref.id})

    assert refused.value.sqlstate in {"CF409", "23514"}
    assert rows(parts) == (0, 0)


def test_i6_history_is_append_only(parts: Rig) -> None:
    held, _ = ended(parts)
    parts.settle(held, Completed())

    for statement in (
        "UPDATE counterfoil.events SET type = 'job.discarded'",
        "DELETE FROM counterfoil.events",
        "TRUNCATE counterfoil.events",
    ):
        with pytest.raises(psycopg.Error, match="append-only"):
            parts.connection.execute(statement)


@pytest.mark.parametrize("column", ["run_at", "deadline"])
@pytest.mark.parametrize(
    "instant", ["infinity", "-infinity", "1999-12-31", "20000-01-01"]
)
def test_i13_no_row_can_hold_an_instant_that_would_stop_a_claim(
    column: str, instant: str, parts: Rig
) -> None:
    enqueue(parts.connection, "noop")

    with pytest.raises(psycopg.errors.CheckViolation):
        parts.connection.execute(
            sql.SQL("UPDATE counterfoil.jobs SET {} = {}").format(
                sql.Identifier(column), sql.Literal(instant)
            )
        )
