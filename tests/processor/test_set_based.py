"""Claiming and succeeding as one statement: what the deciders would have written."""

from typing import Any

import msgspec
import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from domain.event import Actor, Causation, Event, JsonObject, Meta
from domain.jobs.aggregate import Claim, Job, decide, evolve, holder
from domain.jobs.outcome import Completed
from domain.jobs.verdict import Budget, Moment, settle
from domain.outbox import outbox_data
from infrastructure.ids import new_id
from infrastructure.postgres.codec import encode
from infrastructure.postgres.heads.jobs import JOBS
from infrastructure.processor.claim import Claimer, Lane
from infrastructure.processor.identity import actor_of
from infrastructure.processor.succeed import Stamp, Success, succeed
from tests.fixtures.database import ON_BOTH_SERVERS, TestDatabase
from tests.fixtures.workers import enqueue
from tests.processor.generated import BEFORE, OWNER, Row, json_objects, put, rows
from tests.processor.rig import Rig

pytestmark = ON_BOTH_SERVERS

LEASES = {"noop": 60, "other": 150}
ACTOR = actor_of(OWNER)
one_database = settings(
    max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def empty(connection: psycopg.Connection[Any]) -> None:
    with connection.transaction():
        connection.execute("SET LOCAL session_replication_role = replica")
        connection.execute(
            """
            TRUNCATE counterfoil.jobs, counterfoil.events, counterfoil.outbox,
                     counterfoil.running_keys
            """
        )


def heads(connection: psycopg.Connection[Any], laid: list[Row]) -> dict[Any, Job]:
    ids = [row.ref.id for row in laid]
    found = connection.execute(JOBS.read, {"ids": ids}).fetchall()
    return {id_: head.state for id_, head in map(JOBS.head, found)}  # type: ignore[misc]


def assert_logged(
    connection: psycopg.Connection[Any], row: Row, event: Event, meta: Meta
) -> None:
    """Fail unless the stream's only event is this one, to the letter."""
    found = connection.execute(
        """
        SELECT tenant_id, version, type, schema, data = %s::jsonb, meta = %s::jsonb,
               data, meta
          FROM counterfoil.events
         WHERE stream_id = %s
        """,
        (encode(event), encode(meta), row.ref.id),
    ).fetchall()
    assert len(found) == 1
    assert found[0][:4] == (row.tenant_id, row.job.version + 1, event.tag, event.schema)
    assert found[0][4], (found[0][6], event)
    assert found[0][5], (found[0][7], meta)


@one_database
@given(laid=st.lists(rows(), min_size=1, max_size=5), suspects=st.booleans())
def test_a_claim_writes_what_the_decider_says(
    laid: list[Row],
    suspects: bool,  # noqa: FBT001 - a case
    database: TestDatabase,
) -> None:
    """Suspects are claimed one at a time, and never with others."""
    connection = database.connect()
    empty(connection)
    put(connection, laid)

    claimer, lane = Claimer(OWNER, LEASES), Lane("default", ("noop", "other"))
    claimed = (
        claimer.suspect(connection, lane, 1.0)
        if suspects
        else claimer.scan(connection, lane, 10, 1.0).jobs
    )

    mine = [row for row in laid if row.job.is_suspect is suspects]
    assert len(claimed) == (min(len(mine), 1) if suspects else len(mine))
    taken = {job.id for job in claimed}
    assert taken <= {row.ref.id for row in mine}
    after = heads(connection, laid)
    for row in laid:
        assert row.ref.id in taken or after[row.ref.id] == row.job
    if not taken:
        return
    claim_ids = connection.execute("SELECT DISTINCT claim_id FROM counterfoil.jobs")
    claim_id = next(row[0] for row in claim_ids if row[0] is not None)
    for row in (row for row in laid if row.ref.id in taken):
        command = Claim(owner=OWNER, lease_seconds=LEASES[row.job.kind])
        (event,) = decide(row.job, command)
        assert after[row.ref.id] == evolve(row.job, event)
        meta = Meta(actor=ACTOR, correlation_id=row.correlation_id, commit_id=claim_id)
        assert_logged(connection, row, event, meta)
    connection.close()


@one_database
@given(
    laid=st.lists(
        st.tuples(rows(running=True), st.none() | json_objects, st.integers(-1, 1)),
        min_size=1,
        max_size=5,
    )
)
def test_a_success_writes_what_the_decider_says(
    laid: list[tuple[Row, JsonObject | None, int]], database: TestDatabase
) -> None:
    """I4, mechanisms 8: held by its token, and nobody wants it cancelled."""
    connection = database.connect()
    empty(connection)
    put(connection, [row for row, _, _ in laid])
    successes = [
        Success(row.ref.id, (row.job.token or 0) + off, result)
        for row, result, off in laid
    ]
    stamp = Stamp(ACTOR, new_id())

    done = succeed(connection, successes, stamp)

    left = heads(connection, [row for row, _, _ in laid])
    for (row, result, _), success, was in zip(laid, successes, done, strict=True):
        held = holder(row.job, success.token) and not row.job.cancel_requested
        assert was == held
        if not held:
            assert left[row.ref.id] == row.job
            continue
        assert row.ref.id not in left
        assert_succeeded(connection, row, Completed(result=result), stamp)
    keys = connection.execute("SELECT count(*) FROM counterfoil.running_keys")
    assert keys.fetchone() == (
        sum(1 for job in left.values() if job.serial_key is not None),
    )
    connection.close()


def test_a_unit_in_doubt_that_was_rolled_back_counts_only_what_it_writes_now(
    parts: Rig,
) -> None:
    """Mechanisms 10: one is fenced meanwhile, and must not be taken for done."""
    for _ in range(2):
        enqueue(parts.connection, "noop")
    first, second = parts.claim()
    parts.connection.execute(
        "UPDATE counterfoil.jobs SET cancel_requested = true WHERE stream_id = %s",
        (second.job.id,),
    )
    successes = [Success(it.job.id, it.job.token, None) for it in (first, second)]
    stamp = Stamp(ACTOR, new_id(), is_in_doubt=True)

    assert succeed(parts.connection, successes, stamp) == [True, False]


def test_a_unit_in_doubt_that_was_committed_is_found_done(parts: Rig) -> None:
    for _ in range(2):
        enqueue(parts.connection, "noop")
    held = parts.claim()
    successes = [Success(it.job.id, it.job.token, None) for it in held]
    stamp = Stamp(ACTOR, new_id())
    assert succeed(parts.connection, successes[:1], stamp) == [True]

    again = msgspec.structs.replace(stamp, is_in_doubt=True)

    assert succeed(parts.connection, successes, again) == [True, True]
    assert succeed(parts.connection, successes, Stamp(ACTOR, new_id())) == [False] * 2


def assert_succeeded(
    connection: psycopg.Connection[Any], row: Row, said: Completed, stamp: Stamp
) -> None:
    (event,) = settle(row.job, said, Budget(max_attempts=3), Moment(BEFORE))
    state = evolve(row.job, event)
    meta = Meta(
        actor=stamp.actor,
        correlation_id=row.correlation_id,
        causation=Causation(job=row.ref.id, token=row.job.token),
        commit_id=stamp.commit_id,
    )
    assert_logged(connection, row, event, meta)
    told = outbox_data(event, state, row.ref.id)
    found = connection.execute(
        """
        SELECT o.topic, o.tenant_id, o.version, o.data = %s::jsonb,
               o.position = e.position
          FROM counterfoil.outbox o
          JOIN counterfoil.events e USING (stream_id, version)
         WHERE o.stream_id = %s
        """,
        (msgspec.json.encode(told).decode(), row.ref.id),
    ).fetchall()
    assert found == [(event.tag, row.tenant_id, state.version, True, True)]


@pytest.mark.parametrize("attempt", [40, 1_000, 2**31 - 2, 2**31 - 1])
def test_s9_a_claim_of_a_row_with_a_forced_counter_never_fails(
    attempt: int, database: TestDatabase
) -> None:
    connection = database.connect()
    connection.execute('SELECT counterfoil.enqueue(\'{"kind": "noop"}\')')
    connection.execute("UPDATE counterfoil.jobs SET attempt = %s", (attempt,))

    scan = Claimer(OWNER, LEASES).scan(connection, Lane("default", ("noop",)), 1, 1.0)

    assert scan.jobs[0].attempt == min(attempt + 1, 2**31 - 1)
    assert Actor("worker", "somewhere:42") == ACTOR
