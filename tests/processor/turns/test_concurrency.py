"""Mechanisms 21: as many jobs of one key as their limit allows, never one more."""

import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any
from uuid import UUID

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from domain.jobs.aggregate import Stage
from domain.jobs.outcome import Completed, Retry
from infrastructure.ids import new_id
from infrastructure.processor.claim import Claimer, Lane
from infrastructure.processor.identity import actor_of, this_process
from infrastructure.processor.succeed import Stamp, Success, succeed
from tests.fixtures.database import ON_BOTH_SERVERS, TestDatabase
from tests.fixtures.overlaps import most_at_once
from tests.fixtures.workers import enqueue
from tests.processor.generated import OWNER, Row, put, rows
from tests.processor.rig import Rig
from tests.processor.test_set_based import LEASES, empty

pytestmark = ON_BOTH_SERVERS

CLAIMERS = 4
JOBS = 60

equal = pytest.mark.usefixtures("heads_equal_folds")


def limited(parts: Rig, limit: int | None, key: str = "k") -> UUID:
    return enqueue(parts.connection, "turn", serialKey=key, concurrencyLimit=limit)


def ids(held: list[Any]) -> list[UUID]:
    return [each.job.id for each in held]


@equal
def test_as_many_run_at_once_as_the_limit_says_and_the_next_in_order_follow(
    parts: Rig,
) -> None:
    jobs = [limited(parts, 3) for _ in range(5)]

    first = parts.claim()
    assert ids(first) == jobs[:3]
    assert parts.claim() == []

    parts.settle(first[1], Completed())
    second = parts.claim()
    assert ids(second) == jobs[3:4]
    for held in (first[0], first[2], second[0]):
        parts.settle(held, Completed())
    assert ids(parts.claim()) == jobs[4:]


@equal
def test_a_slot_that_one_leaves_for_later_is_the_next_ones(parts: Rig) -> None:
    first, second, third = (limited(parts, 2) for _ in range(3))
    held = {each.job.id: each for each in parts.claim()}
    assert set(held) == {first, second}

    parts.settle(held[first], Retry(code="down"))

    assert ids(parts.claim()) == [third]


@equal
def test_jobs_of_two_limits_each_keep_to_the_slots_of_their_own(parts: Rig) -> None:
    """Never two of limit 1, and never more than three in all."""
    one, other = limited(parts, 1), limited(parts, 1)
    threes = [limited(parts, 3) for _ in range(3)]

    held = {each.job.id: each for each in parts.claim()}
    assert set(held) == {one, threes[0]}  # the other one keeps its place
    assert parts.claim() == []

    parts.settle(held[one], Completed())
    assert set(ids(parts.claim())) == {other, threes[1]}  # three run now
    assert parts.claim() == []

    parts.settle(held[threes[0]], Completed())
    assert ids(parts.claim()) == [threes[2]]


@equal
def test_the_same_key_of_another_tenant_has_slots_of_its_own(parts: Rig) -> None:
    for tenant in ("one", "two"):
        for _ in range(3):
            enqueue(
                parts.connection,
                "turn",
                serialKey="k",
                concurrencyLimit=2,
                tenant=tenant,
            )

    held = parts.claim()

    assert sorted(each.job.tenant_id for each in held) == ["one", "one", "two", "two"]


def test_a_slot_whose_job_does_not_run_is_freed_by_the_orphan_pass(parts: Rig) -> None:
    parts.connection.execute(
        "INSERT INTO counterfoil.running_keys VALUES ('default', 'k', %s, 77, 2)",
        (new_id(),),
    )
    first, second = (limited(parts, 2) for _ in range(2))
    assert ids(parts.claim()) == [first]

    parts.rescuer.round()

    assert ids(parts.claim()) == [second]


@st.composite
def crowds(draw: st.DrawFn) -> tuple[list[Row], dict[UUID, int]]:
    """Draw jobs of two keys, some of them running, and the slots that these are in."""
    laid: list[Row] = []
    slots: dict[UUID, int] = {}
    for key in ("a", "b"):
        for slot in draw(st.sets(st.integers(1, 4))):
            running = draw(rows(running=True))
            laid.append(_of(running, key, draw(st.integers(slot, 4))))
            slots[running.ref.id] = slot
        laid += [
            _of(draw(rows()), key, draw(st.integers(1, 4)))
            for _ in range(draw(st.integers(0, 5)))
        ]
    return laid, slots


def _of(row: Row, key: str, limit: int) -> Row:
    replace = msgspec.structs.replace
    job = replace(
        row.job, serial_key=key, concurrency_limit=limit, is_suspect=False, kind="noop"
    )
    return replace(row, job=job, tenant_id="default")


def allowed(laid: list[Row], slots: dict[UUID, int]) -> set[UUID]:
    """Return who may start: each in its order, as far as it finds slots free."""
    may: set[UUID] = set()
    for key in ("a", "b"):
        of_key = [row for row in laid if row.job.serial_key == key]
        held = {slots[row.ref.id] for row in of_key if row.ref.id in slots}
        waiting = [row for row in of_key if row.job.stage is Stage.WAITING]
        waiting.sort(key=lambda it: (it.job.serial_order, it.job.run_at, it.ref.id))
        for nth, row in enumerate(waiting, 1):
            limit = row.job.concurrency_limit
            if nth <= limit - sum(slot <= limit for slot in held):
                may.add(row.ref.id)
    return may


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(crowd=crowds())
def test_who_may_start_does_and_is_in_a_slot_of_his_own(
    crowd: tuple[list[Row], dict[UUID, int]], database: TestDatabase
) -> None:
    connection = database.connect()
    empty(connection)
    laid, slots = crowd
    put(connection, laid, slots)

    scan = Claimer(OWNER, LEASES).scan(connection, Lane("default", ("noop",)), 20, 1.0)

    taken = {job.id for job in scan.jobs}
    assert taken == allowed(laid, slots)
    limits = {row.ref.id: row.job.concurrency_limit for row in laid}
    held = connection.execute("SELECT job_id, slot FROM counterfoil.running_keys")
    for job, slot in held.fetchall():
        assert slots.get(job, slot) == slot
        assert 1 <= slot <= limits[job]
    connection.close()


def drain(database: TestDatabase, start: threading.Barrier, n: int) -> int:
    """Claim one to three and succeed them until nothing is left; return how many."""
    own = database.connect()
    owner = this_process()
    claimer = Claimer(owner, {"turn": 60})
    start.wait(30)
    claimed = 0
    at = float(n)
    while own.execute("SELECT 1 FROM counterfoil.jobs LIMIT 1").fetchone():
        at += 10
        for job in claimer.scan(own, Lane("default", ("turn",)), 1 + n % 3, at).jobs:
            claimed += 1
            stamp = Stamp(actor_of(owner), new_id())
            assert all(succeed(own, [Success(job.id, job.token, None)], stamp))
    return claimed


@equal
def test_four_claimers_never_exceed_any_limit(database: TestDatabase) -> None:
    connection = database.connect()
    limits = {"one": 1, "two": 2, "five": 5}
    for n in range(JOBS):
        key = tuple(limits)[n % len(limits)]
        enqueue(connection, "turn", serialKey=key, concurrencyLimit=limits[key])
    start = threading.Barrier(CLAIMERS)

    with ThreadPoolExecutor(CLAIMERS) as threads:
        claimed = list(threads.map(partial(drain, database, start), range(CLAIMERS)))

    assert sum(claimed) == JOBS
    assert sum(1 for n in claimed if n) > 1  # they did work side by side
    most = most_at_once(connection)
    assert all(most[key] <= limit for key, limit in limits.items())
    assert most["one"] == 1
