"""What the kit says of a handler is what a worker on PostgreSQL writes of it."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any
from uuid import UUID

import msgspec
import psycopg
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from api.cli.app import run as counterfoil
from counterfoil import (
    Ambiguous,
    Cancel,
    Completed,
    Fail,
    Outcome,
    Park,
    Retry,
    Snooze,
)
from counterfoil.testing import Run, run
from domain.event import Event
from infrastructure.bootstrap import Composition
from infrastructure.postgres.codec import decode_event
from infrastructure.processor.leases import Held
from infrastructure.processor.running import run as run_claimed
from infrastructure.telemetry import listen, show
from tests.fixtures.database import TestDatabase
from tests.fixtures.workers import enqueue, until, worker_here
from tests.kit.cases import CASES, Case
from tests.processor.rig import Rig, rig

pytestmark = [pytest.mark.database, pytest.mark.usefixtures("heads_equal_folds")]

type Connection = psycopg.Connection[Any]

DUE = ("retry_at", "until")
LOOKS = 5


class Written(msgspec.Struct, frozen=True):
    """What the log holds of the end of one run, and between which instants."""

    event: Event
    claimed_at: datetime
    recorded_at: datetime


def written(connection: Connection, job: UUID, version: int) -> Written | None:
    """Return the event of that version, once it is there."""
    row = connection.execute(
        """
        SELECT e.type, e.schema, e.data::text, c.recorded_at, e.recorded_at
          FROM counterfoil.events e
          JOIN counterfoil.events c ON c.stream_id = e.stream_id
           AND c.type = 'job.claimed' AND c.version < e.version
         WHERE e.stream_id = %s AND e.version = %s
         ORDER BY c.version DESC
        """,
        (job, version),
    ).fetchone()
    if row is None:
        return None
    tag, schema, data, *instants = row
    return Written(decode_event(tag, schema, data), *instants)


def head(connection: Connection, job: UUID) -> dict[str, Any]:
    """Return what the tables of heads say of a job; nothing when it succeeded."""
    row = connection.execute(
        """
        SELECT to_jsonb(j) FROM counterfoil.jobs j WHERE stream_id = %(job)s
        UNION ALL
        SELECT to_jsonb(d) FROM counterfoil.jobs_dead d WHERE stream_id = %(job)s
        """,
        {"job": job},
    ).fetchone()
    return {} if row is None else row[0]


def assert_same(told: Run, log: Written) -> None:
    """Fail unless the kit's event is the log's, with an instant of the same pause."""
    kit, real = plain(told.event), plain(log.event)
    for name in DUE:
        due = kit.pop(name, None)
        if due is not None:
            assert told.next_run_at is not None
            real_due = datetime.fromisoformat(real.pop(name))
            pause = told.next_run_at - told.at
            assert (
                real_due == told.next_run_at
                or log.claimed_at + pause <= real_due <= log.recorded_at + pause
            )
    if kit.get("code") == "unstorable_result":
        # Why is said in the words of whoever refused it.
        assert bool(kit.pop("error")) == bool(real.pop("error"))
    assert kit == real
    assert type(told.event) is type(log.event)


def plain(event: Event) -> dict[str, Any]:
    """Return an event as its JSON is read."""
    told: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(event))
    return told


def in_the_kit(case: Case) -> Run:
    cancel_after = LOOKS if case.is_cancelled else None
    return run(case.kind, case.args, attempt=case.attempt, cancel_after=cancel_after)


@pytest.fixture
def jobs(database: TestDatabase, monkeypatch: pytest.MonkeyPatch) -> dict[str, UUID]:
    """A job of every case, run by a worker as far as it is compared."""
    monkeypatch.setenv("COUNTERFOIL_DATABASE_URL", database.url)
    monkeypatch.setenv("COUNTERFOIL_OPERATOR", "ann")
    connection = database.connect()
    made = {case.name: enqueue(connection, case.name, args=case.args) for case in CASES}
    kinds = [case.kind for case in CASES]
    with listen(show), worker_here(database, *kinds, heartbeat_seconds=0.2):
        for case in CASES:
            if case.is_cancelled:
                cancel(connection, made[case.name])
        for case in CASES:
            until(partial(written, connection, made[case.name], case.version))
    return made


def cancel(connection: Connection, job: UUID) -> None:
    """Request a cancel, once the job runs."""
    until(lambda: head(connection, job).get("state") == "running")
    arguments = ["cancel", str(job), "--reason", "not wanted any more"]
    assert counterfoil(Composition(os.environ), arguments) == 0


def test_a_worker_writes_what_the_kit_says(
    database: TestDatabase, jobs: dict[str, UUID]
) -> None:
    connection = database.connect()

    for case in CASES:
        told = in_the_kit(case)
        log = written(connection, jobs[case.name], case.version)
        assert log is not None
        try:
            assert_same(told, log)
        except AssertionError as error:
            error.add_note(case.name)
            raise


def test_the_head_of_the_job_is_what_the_kit_says(
    database: TestDatabase, jobs: dict[str, UUID]
) -> None:
    connection = database.connect()

    for case in CASES:
        if case.name == "retry.second":
            continue  # its third attempt follows at once
        told, row = in_the_kit(case), head(connection, jobs[case.name])
        if told.state == "succeeded":
            assert row == {}, case.name
            continue
        columns = {
            "state": told.state,
            "attempt": told.attempt,
            "parkings": told.job.parkings,
            "error_code": told.error_code,
        }
        assert {name: row[name] for name in columns} == columns, case.name
        assert row.get("code") == told.code, case.name


any_text = st.text(st.characters(exclude_categories=[]), max_size=30)
any_json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_infinity=True)
    | any_text,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(any_text, inner, max_size=3)
    ),
    max_leaves=6,
)
results = st.none() | st.dictionaries(any_text, any_json, max_size=3)
instants = st.datetimes(
    min_value=datetime(2000, 1, 1),  # noqa: DTZ001 - hypothesis adds the zone
    max_value=datetime(9998, 1, 1),  # noqa: DTZ001 - see above
    timezones=st.just(UTC),
)
outcomes: st.SearchStrategy[Outcome] = st.one_of(
    st.builds(Completed, result=results),
    st.builds(
        Retry,
        code=any_text,
        error=any_text,
        not_before_seconds=st.none() | st.floats(),
    ),
    st.builds(Snooze, until=instants, cause=any_text),
    st.builds(Park, cause=any_text, error=any_text),
    st.builds(Fail, code=any_text, error=any_text),
    st.builds(Cancel, code=any_text),
    st.builds(Ambiguous, code=any_text, error=any_text),
)

MOST = 8


@dataclass(frozen=True)
class Speaker:
    """Kinds whose handlers say what the test wants, and the parts of a worker."""

    parts: Rig
    says: list[Outcome]

    def enqueue(self) -> set[UUID]:
        """Ask for a job of each kind that has something to say."""
        names = (f"generated.{n}" for n in range(len(self.says)))
        return {enqueue(self.parts.connection, name) for name in names}

    def claim(self, jobs: set[UUID]) -> list[Held]:
        """Return these jobs, claimed; others that are due again are ended."""
        claimed = self.parts.claim(n=100)
        for held in claimed:
            if held.job.id not in jobs:
                self.parts.settle(held, Fail(code="left_over"))
        return [held for held in claimed if held.job.id in jobs]


@pytest.fixture
def speaker(database: TestDatabase) -> Iterator[Speaker]:
    says: list[Outcome] = []

    def say(n: int, _args: object, _ctx: object) -> Outcome:
        return says[n]

    kinds = [Case(f"generated.{n}", partial(say, n)).kind for n in range(MOST)]
    with rig(database, *kinds) as parts:
        yield Speaker(parts, says)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(said=[Completed(result={"": 7.205759403792777e16, "-": -0.0})])
@given(said=st.lists(outcomes, min_size=1, max_size=MOST))
def test_whatever_a_handler_says_is_settled_as_the_kit_says(
    speaker: Speaker, said: list[Outcome]
) -> None:
    speaker.says[:] = said
    jobs = speaker.enqueue()

    claimed = speaker.claim(jobs)
    for held in claimed:
        speaker.parts.settle(held, run_claimed(held, speaker.parts.leases))
        told = run(held.kind, now=held.job.claimed_at)
        log = written(speaker.parts.connection, held.job.id, 3)
        assert log is not None
        assert_same(told, log)

    assert {held.job.id for held in claimed} == jobs
