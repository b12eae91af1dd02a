"""The list of jobs, and the history of one: what they show, and what they never do."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID

import msgspec
import pytest

from domain.jobs.outcome import Completed, Fail
from infrastructure.postgres.database import Database
from infrastructure.processor.heartbeat import deregister, register
from projections.job_history import JobHistory
from projections.job_line import JobLine
from projections.job_list import STATES, JobFilter, JobList
from tests.fixtures.database import TestDatabase
from tests.fixtures.maintenance import Maintenance
from tests.fixtures.workers import enqueue
from tests.operators.world import GENERIC, SERVED, World, bring

pytestmark = pytest.mark.database

SECRET = "cc-4000-1234"  # noqa: S105 - stands for what somebody may put into arguments


@pytest.fixture
def job_list(database: TestDatabase) -> Iterator[JobList]:
    with Database(database.conninfo, pool_size=1) as pool:
        yield JobList(pool.connection)


@pytest.fixture
def job_history(database: TestDatabase) -> Iterator[JobHistory]:
    with Database(database.conninfo, pool_size=1) as pool:
        yield JobHistory(pool.connection)


def only(job_list: JobList, **wanted: Any) -> JobLine:  # noqa: ANN401 - of the filter
    (line,) = job_list(JobFilter(**wanted)).jobs
    return line


@pytest.mark.parametrize(
    ("brought", "state", "cause"),
    [
        ("due", "waiting", "due"),
        ("not_due", "waiting", "not_due"),
        ("after_failure", "waiting", "after_failure"),
        ("parked", "waiting", "parked"),
        ("held", "waiting", "parked"),
        ("running", "running", None),
        ("cancel_requested", "running", None),
        ("discarded", "discarded", None),
        ("cancelled", "cancelled", None),
    ],
)
def test_a_job_shows_its_state_with_the_cause(
    world: World, job_list: JobList, brought: str, state: str, cause: str | None
) -> None:
    job, _ = bring(world, brought, GENERIC)

    line = only(job_list)

    assert (line.job_id, line.state, line.cause) == (job, state, cause)
    assert line.cancel_requested is (brought == "cancel_requested")


@pytest.mark.parametrize("is_closed", [True, False])
def test_a_held_job_shows_its_gate_and_no_instant(
    database: TestDatabase,
    world: World,
    job_list: JobList,
    is_closed: bool,  # noqa: FBT001 - a parameter
) -> None:
    if is_closed:
        Maintenance(database).begin()
    bring(world, "held", GENERIC)

    line = only(job_list)

    assert (line.gate, line.run_at) == ("panel", None)
    assert (line.gate_closed_since is not None) == is_closed


@pytest.mark.parametrize("asked", sorted(STATES))
def test_each_state_can_be_asked_for_and_finds_only_its_own(
    world: World, job_list: JobList, asked: str
) -> None:
    for brought in ("not_due", "after_failure", "parked", "running", "discarded"):
        bring(world, brought, GENERIC)
    bring(world, "cancelled", GENERIC)
    bring(world, "due", GENERIC)
    state, cause = STATES[asked]

    found = job_list(JobFilter(state=asked)).jobs

    assert found
    assert {line.state for line in found} == {state}
    assert cause is None or {line.cause for line in found} == {cause}


def test_a_succeeded_job_is_in_no_list(world: World, job_list: JobList) -> None:
    bring(world, "succeeded", GENERIC)

    assert job_list(JobFilter()).jobs == ()


def test_a_dead_job_stays_dead_when_its_operation_is_cancelled(
    world: World, job_list: JobList
) -> None:
    """Whether it waits for a person is told by dead letters."""
    job, operation = bring(world, "discarded", SERVED)
    assert only(job_list, state="discarded").operation_id == str(operation)

    world.cancel(job)

    assert only(job_list, state="discarded").job_id == job


def test_pages_show_every_job_once(world: World, job_list: JobList) -> None:
    jobs = {world.report() for _ in range(7)}
    for _ in range(3):
        world.end(world.claim(GENERIC), Fail(code="permanent"))

    page = job_list(JobFilter(limit=2))
    seen = [line.job_id for line in page.jobs]
    while page.has_more:
        page = job_list(JobFilter(limit=2, after=seen[-1]))
        seen += [line.job_id for line in page.jobs]

    assert seen == sorted(jobs, reverse=True)


def test_filters_of_kind_queue_and_tenant_count_together(
    world: World, job_list: JobList
) -> None:
    world.report(queue="bulk")
    wanted = world.report(queue="bulk", tenant="other")
    world.report()
    bring(world, "due", SERVED)

    found = job_list(JobFilter(kind=GENERIC, queue="bulk", tenant_id="other")).jobs

    assert [line.job_id for line in found] == [wanted]


def test_a_kind_is_known_while_a_worker_that_knows_it_beats(
    world: World, job_list: JobList, database: TestDatabase
) -> None:
    """S25: unknown kinds are left alone, and visible."""
    world.report()
    assert not only(job_list).known

    register(world.connection, world.owner, [GENERIC])
    assert only(job_list).known

    database.advance(timedelta(seconds=61))
    assert not only(job_list).known

    register(world.connection, world.owner, [GENERIC])
    assert job_list(JobFilter()).live_workers == 1
    deregister(world.connection, world.owner)
    assert not only(job_list).known


def test_who_goes_first_for_a_serial_key_is_named(
    world: World, job_list: JobList
) -> None:
    _, first = world.operation("ann")
    _, second = world.operation("ann")

    waiting = {line.job_id: line for line in job_list(JobFilter(kind=SERVED)).jobs}
    assert waiting[second].waits_behind == first
    assert waiting[first].waits_behind is None

    assert world.claim(SERVED).id == first
    running = {line.job_id: line for line in job_list(JobFilter(kind=SERVED)).jobs}
    assert running[second].waits_behind == first
    assert running[first].claimed_at is not None
    assert running[first].owner_pid == world.owner.pid


def test_who_holds_the_last_slot_of_a_key_is_named_or_who_is_to_have_it(
    world: World, job_list: JobList
) -> None:
    first, second, third = (
        world.report(serialKey="k", concurrencyLimit=2) for _ in range(3)
    )

    def behind() -> list[UUID | None]:
        lines = {it.job_id: it for it in job_list(JobFilter(kind=GENERIC)).jobs}
        return [lines[job].waits_behind for job in (first, second, third)]

    assert behind() == [None, None, second]
    assert world.claim(GENERIC).id == first
    assert behind() == [None, None, second]
    assert world.claim(GENERIC).id == second
    assert behind() == [None, None, second]


def test_no_list_and_no_history_shows_an_argument_or_a_result(
    world: World, job_list: JobList, job_history: JobHistory
) -> None:
    """I12."""
    job = world.report(uniqueKey="k")
    hidden = enqueue(
        world.connection, GENERIC, runAt="2999-01-01T00:00:00Z", args={"card": SECRET}
    )
    world.end(world.claim(GENERIC), Completed(result={"card": SECRET}))

    shown = [job_list(JobFilter()), job_history(job), job_history(hidden)]

    assert all(SECRET not in msgspec.json.encode(each).decode() for each in shown)
    told = job_history(hidden)
    assert told is not None
    assert told.args == ("card",)


@pytest.mark.parametrize(
    "state", ["due", "running", "succeeded", "discarded", "cancelled"]
)
def test_a_history_tells_all_events_and_where_they_led(
    world: World, job_history: JobHistory, state: str
) -> None:
    job, _ = bring(world, state, GENERIC)

    story = job_history(job)

    assert story is not None
    assert [event.type for event in story.events] == world.tags(job)
    assert story.state == {"due": "waiting"}.get(state, state)
    assert (story.kind, story.args) == (GENERIC, ("n",))


def test_what_is_no_job_has_no_history(world: World, job_history: JobHistory) -> None:
    operation, _ = world.operation()

    assert job_history(operation) is None
    assert job_history(world.owner.boot) is None
