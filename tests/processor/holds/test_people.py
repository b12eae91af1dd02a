"""What people say of queues and workers: with a reason, on record, once."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from application.errors import (
    ForbiddenError,
    NotFoundError,
    StateConflictError,
    VersionChangedError,
)
from application.operators.instruction import Instruction
from domain.access.permissions import READS
from domain.errors import InvalidRequestError
from domain.operators.events import ActionRefused, ActionTaken
from domain.queues.queue import QueuePausedError
from infrastructure.processor.heartbeat import deregister, register
from tests.fixtures.database import TestDatabase
from tests.fixtures.workers import enqueue
from tests.processor.holds.conftest import ANN, BOB, HOUR, Desk
from tests.processor.rig import Rig

pytestmark = pytest.mark.database

NOBODY = "0197d3a0-0000-7000-8000-000000000000"
STRANGER = replace(ANN, tenant_id="shop")
VIEWER = replace(ANN, permissions=READS)


def test_a_pause_is_one_record_with_before_and_after(desk: Desk) -> None:
    version = desk.pause()

    ((tag, action, target, who, before, after, _),) = desk.recorded()
    assert (tag, action) == (ActionTaken.tag, "queue.paused")
    assert (target, who) == ("default", "ann")
    assert before == {"version": 0, "concurrency": None, "paused_until": None}
    assert after["version"] == version == 1
    assert after["paused_until"] is not None


def test_it_is_renewed_by_who_made_it_and_refused_to_others(desk: Desk) -> None:
    desk.pause()
    desk.database.advance(timedelta(minutes=50))
    desk.pause()

    with pytest.raises(QueuePausedError, match="by ann"):
        desk.pause(who=BOB)

    told = [row[:4] for row in desk.recorded()]
    assert told == [
        (ActionTaken.tag, "queue.paused", "default", "ann"),
        (ActionTaken.tag, "queue.paused", "default", "ann"),
        (ActionRefused.tag, "queue.paused", "queue:default", "bob"),
    ]


def test_what_is_so_already_is_on_record_and_no_other_version(desk: Desk) -> None:
    desk.limit(3)
    desk.limit(3)
    desk.queues.resume("default", BOB)

    versions = [(row[4]["version"], row[5]["version"]) for row in desk.recorded()]
    assert versions == [(0, 1), (1, 1), (1, 1)]


def test_whoever_looked_at_another_version_is_refused(desk: Desk) -> None:
    desk.limit(3)

    with pytest.raises(VersionChangedError):
        desk.queues.limit("default", 5, BOB, versions=frozenset({0}))
    told = desk.queues.limit("default", 5, BOB, versions=frozenset({1}))

    assert (told.after.concurrency, told.after.version) == (5, 2)
    assert [row[6] for row in desk.recorded()] == [None, "precondition_failed", None]


def test_a_queue_is_there_when_its_jobs_are(desk: Desk) -> None:
    with pytest.raises(NotFoundError, match="no queue reports"):
        desk.pause("reports")

    enqueue(desk.connection, "noop", queue="reports")

    assert desk.pause("reports") == 1


@pytest.mark.parametrize("name", ["a\x00b", "\udc80", "x" * 10_000])
def test_what_names_no_queue_is_not_found(name: str, desk: Desk) -> None:
    with pytest.raises(NotFoundError):
        desk.pause(name)

    ((tag, *_, code),) = desk.recorded()
    assert (tag, code) == (ActionRefused.tag, "not_found")


@pytest.mark.parametrize(
    "lasts", [timedelta(0), timedelta(hours=-1), timedelta(hours=24, seconds=1)]
)
def test_no_pause_is_past_or_longer_than_a_day(lasts: timedelta, desk: Desk) -> None:
    with pytest.raises(InvalidRequestError, match="expiresAt"):
        desk.pause(lasts=lasts)

    assert [row[6] for row in desk.recorded()] == ["invalid_member"]


@pytest.mark.parametrize(
    ("who", "error"), [(VIEWER, ForbiddenError), (STRANGER, NotFoundError)]
)
def test_who_may_not_changes_nothing_and_is_on_record(
    who: Instruction, error: type[Exception], desk: Desk, parts: Rig
) -> None:
    register(parts.connection, parts.owner, ["noop"])
    boot = str(parts.owner.boot)
    until = desk.now() + HOUR

    with pytest.raises(error):
        desk.queues.pause("default", until, who)
    with pytest.raises(error):
        desk.queues.resume("default", who)
    with pytest.raises(error):
        desk.queues.limit("default", 1, who)
    with pytest.raises(error):
        desk.drain(boot, who)

    assert {row[0] for row in desk.recorded()} == {ActionRefused.tag}
    assert [row[1] for row in desk.recorded()] == [
        "queue.paused", "queue.resumed", "queue.limited", "worker.drained"
    ]  # fmt: skip
    assert desk.connection.execute("SELECT 1 FROM counterfoil.queues").fetchall() == []


def test_a_worker_is_asked_to_drain_once(desk: Desk, parts: Rig) -> None:
    register(parts.connection, parts.owner, ["noop"])
    boot = str(parts.owner.boot)

    first = desk.drain(boot, ANN)
    again = desk.drain(boot, BOB)

    assert first.after.draining_since == again.after.draining_since
    states = [(row[4]["state"], row[5]["state"]) for row in desk.recorded()]
    assert states == [("alive", "drained"), ("drained", "drained")]


def test_what_holds_jobs_is_draining_until_they_are_over(
    desk: Desk, parts: Rig
) -> None:
    register(parts.connection, parts.owner, ["noop"])
    enqueue(parts.connection, "noop")
    parts.claim()

    told = desk.drain(str(parts.owner.boot), ANN)

    assert (told.after.state(desk.now()), told.after.running) == ("draining", 1)


def test_a_drained_process_claims_nothing(desk: Desk, parts: Rig) -> None:
    register(parts.connection, parts.owner, ["noop"])
    enqueue(parts.connection, "noop")

    desk.drain(str(parts.owner.boot), ANN)

    assert parts.claim() == []
    assert parts.claimer.holds.is_draining


@pytest.mark.parametrize("boot", ["nobody", NOBODY, "\x00"])
def test_a_process_that_never_was_is_not_found(boot: str, desk: Desk) -> None:
    with pytest.raises(NotFoundError):
        desk.drain(boot, ANN)


def test_a_process_that_is_gone_is_not_drained(
    desk: Desk, database: TestDatabase, parts: Rig
) -> None:
    register(parts.connection, parts.owner, ["noop"])
    boot = str(parts.owner.boot)
    database.advance(timedelta(seconds=61))
    with pytest.raises(StateConflictError, match="is silent"):
        desk.drain(boot, ANN)

    deregister(parts.connection, parts.owner)
    with pytest.raises(StateConflictError, match="is stopped"):
        desk.drain(boot, ANN)

    assert {row[6] for row in desk.recorded()} == {"state_conflict"}
