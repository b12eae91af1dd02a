"""Opening a gate makes due what waited there: once each, spread, and key by key."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from application.unit import Group, Result
from domain.jobs.aggregate import Cancel
from domain.jobs.outcome import Completed, Gated
from domain.maintenance.gates import ALL, PANEL
from domain.stream import Ref, StreamKind
from infrastructure.postgres.batch_store import BatchStore
from infrastructure.processor.gates import unparking
from infrastructure.processor.gates.unparking import Unparker
from infrastructure.processor.settler import Ended
from infrastructure.telemetry import listen
from tests.fixtures.database import ON_BOTH_SERVERS, TestDatabase
from tests.fixtures.maintenance import Maintenance
from tests.fixtures.workers import enqueue, facts, history
from tests.processor.rig import Rig
from tests.store.groups import births, commanding, job_birth, step, written

pytestmark = [ON_BOTH_SERVERS, pytest.mark.usefixtures("heads_equal_folds")]

GATED = Gated(gate=PANEL, cause="maintenance_active")

HEADS = """
SELECT stream_id, state, cause, run_at, gate, attempt, serial_order
  FROM counterfoil.jobs ORDER BY stream_id
"""


@pytest.fixture
def maintenance(database: TestDatabase) -> Maintenance:
    return Maintenance(database)


def hold(parts: Rig, *jobs: UUID) -> tuple[UUID, ...]:
    """Let every waiting job be claimed and find its gate closed; return `jobs`."""
    while held := parts.claim(100):
        parts.settler.settle([Ended(each, GATED) for each in held])
    return jobs


def ask(parts: Rig, *members: dict[str, Any]) -> list[UUID]:
    """Return new jobs, as the product enqueues its own."""
    born = [job_birth(**each) for each in members]
    for result in parts.store.commit([births(each) for each in born]):
        written(result)
    return [each.ref.id for each in born]


def due(parts: Rig) -> dict[UUID, datetime]:
    rows = parts.connection.execute(HEADS).fetchall()
    return {row[0]: row[3] for row in rows if row[4] is None}


def held(parts: Rig) -> int:
    row = parts.connection.execute(
        "SELECT count(*) FROM counterfoil.jobs WHERE gate IS NOT NULL"
    ).fetchone()
    assert row is not None
    return int(row[0])


def clock(parts: Rig) -> datetime:
    row = parts.connection.execute("SELECT counterfoil.now()").fetchone()
    assert row is not None
    assert isinstance(row[0], datetime)
    return row[0]


def test_while_the_gate_is_closed_nothing_happens(
    parts: Rig, maintenance: Maintenance
) -> None:
    maintenance.begin()
    (job,) = hold(parts, enqueue(parts.connection, "noop"))
    before = parts.connection.execute(HEADS).fetchall()

    parts.database.advance(timedelta(hours=24))

    assert parts.unparker.round() == 0
    assert parts.claim() == []
    assert parts.connection.execute(HEADS).fetchall() == before
    assert history(parts.connection, job) == ["enqueued", "claimed", "parked"]


def test_when_it_opens_the_job_is_due_and_runs(
    parts: Rig, maintenance: Maintenance
) -> None:
    maintenance.begin()
    (job,) = hold(parts, enqueue(parts.connection, "noop"))
    maintenance.end()

    assert parts.unparker.round() == 1

    (fact,) = facts(parts.connection, job, "job.unparked")
    assert set(fact) == {"run_at"}
    assert due(parts)[job] <= clock(parts) + timedelta(milliseconds=50)
    parts.database.advance(timedelta(milliseconds=50))
    (claimed,) = parts.claim()
    assert (claimed.job.id, claimed.job.attempt) == (job, 1)
    parts.settle(claimed, Completed())


def test_who_did_it_is_told(parts: Rig) -> None:
    """I9."""
    (job,) = hold(parts, enqueue(parts.connection, "noop", correlationId="c-7"))

    parts.unparker.round()

    ((actor, correlation, cause),) = parts.connection.execute(
        """
        SELECT meta->'actor'->>'type', meta->>'correlation_id',
               (meta->'causation'->>'job')::uuid
          FROM counterfoil.events
         WHERE type = 'job.unparked'
        """
    ).fetchall()
    assert (actor, correlation, cause) == ("worker", "c-7", job)


@pytest.mark.parametrize("first", [PANEL, ALL])
def test_of_two_windows_that_overlap_the_last_one_opens_the_gate(
    parts: Rig, maintenance: Maintenance, first: str
) -> None:
    maintenance.begin(PANEL)
    maintenance.begin(ALL)
    hold(parts, enqueue(parts.connection, "noop"))

    maintenance.end(first)
    assert parts.unparker.round() == 0
    maintenance.end(ALL if first == PANEL else PANEL)
    assert parts.unparker.round() == 1


def test_a_gate_that_nobody_closes_is_open(
    parts: Rig, maintenance: Maintenance
) -> None:
    """Each gate is asked for by its own name."""
    maintenance.begin(PANEL)
    stays = enqueue(parts.connection, "noop")
    hold(parts)
    goes = enqueue(parts.connection, "noop")
    (claimed,) = parts.claim()
    parts.settle(claimed, Gated(gate="shop", cause="breaker_open"))

    assert parts.unparker.round() == 1

    assert list(due(parts)) == [goes]
    assert history(parts.connection, stays)[-1] == "parked"


def test_s8_a_herd_of_a_thousand_does_not_start_in_one_instant(
    parts: Rig, maintenance: Maintenance
) -> None:
    maintenance.begin()
    ask(parts, *({"serial_key": f"entitlement:{n}"} for n in range(1_000)))
    hold(parts)
    maintenance.end()

    assert parts.unparker.round() == 1_000

    first = min(due(parts).values())
    seconds = Counter(int((at - first).total_seconds()) for at in due(parts).values())
    assert max(seconds.values()) <= 60, "of an even share of 20"
    assert len(seconds) >= 45
    assert max(seconds) < 55
    parts.database.advance(timedelta(minutes=1))
    runs = [each for _ in range(11) for each in parts.claim(100)]
    assert len(runs) == 1_000
    parts.settler.settle([Ended(each, Completed()) for each in runs])


def test_jobs_of_one_key_are_due_together_and_go_in_their_order(
    parts: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when the pages part them: a later one must not overtake."""
    monkeypatch.setattr(unparking, "PAGE", 2)
    keys = [{"serial_key": f"k{n % 2}", "serial_order": 9 - n} for n in range(8)]
    jobs = ask(parts, *keys)
    hold(parts)

    assert parts.unparker.round() == 8

    assert len(set(due(parts).values())) == 2
    parts.database.advance(timedelta(seconds=1))
    order = list[UUID]()
    while claimed := parts.claim():
        for each in claimed:
            order.append(each.job.id)
            parts.settle(each, Completed())
    assert [job for job in order if job in jobs[::2]] == jobs[::2][::-1]
    assert [job for job in order if job in jobs[1::2]] == jobs[1::2][::-1]


def test_a_held_job_holds_up_nobody_of_its_key(parts: Rig) -> None:
    (first,) = hold(parts, *ask(parts, {"serial_key": "k", "serial_order": 1}))
    (second,) = ask(parts, {"serial_key": "k", "serial_order": 2})

    (claimed,) = parts.claim()

    assert claimed.job.id == second
    parts.settle(claimed, Completed())
    parts.unparker.round()
    assert list(due(parts)) == [first]


def test_pages_go_on_until_nothing_waits(
    parts: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unparking, "PAGE", 3)
    for _ in range(10):
        enqueue(parts.connection, "noop")
    hold(parts)
    told: list[object] = []

    with listen(lambda event, values: told.append((event, values))):
        assert parts.unparker.round() == 10

    assert told == [("jobs unparked", {"gate": PANEL, "jobs": 10})]
    assert parts.unparker.round() == 0


class Between:
    """Units of work, and what happens right before each commit."""

    def __init__(self, store: BatchStore, *deeds: Any) -> None:  # noqa: ANN401 - called
        self._store = store
        self._deeds = list(deeds)

    def commit(self, groups: Sequence[Group]) -> list[Result]:
        if self._deeds:
            self._deeds.pop(0)()
        return self._store.commit(groups)


def test_a_gate_that_closes_again_holds_what_is_left(
    parts: Rig, maintenance: Maintenance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unparking, "PAGE", 2)
    for _ in range(5):
        enqueue(parts.connection, "noop")
    hold(parts)
    units = Between(parts.store, maintenance.begin)
    unparker = Unparker(parts.pool, units, parts.actor)

    assert unparker.round() == 2  # a page was read before the closing

    assert held(parts) == 3


@pytest.mark.parametrize("does", ["cancel", "unpark"])
def test_who_moved_on_in_the_last_moment_is_left_alone(parts: Rig, does: str) -> None:
    """What was read without a lock is asked for again under it."""
    (job,) = hold(parts, enqueue(parts.connection, "noop"))
    deeds = {"cancel": lambda: cancel(parts, job), "unpark": parts.unparker.round}
    unparker = Unparker(parts.pool, Between(parts.store, deeds[does]), parts.actor)

    assert unparker.round() == 0

    last = {"cancel": "cancelled", "unpark": "unparked"}[does]
    assert history(parts.connection, job) == ["enqueued", "claimed", "parked", last]


def cancel(parts: Rig, job: UUID) -> None:
    """End a waiting job as an operator does."""
    ended = step(Ref(StreamKind.JOB, job), make=commanding(Cancel()))
    written(parts.store.commit([ended])[0])
