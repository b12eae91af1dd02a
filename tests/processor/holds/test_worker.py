"""A worker notices what people say of its queues and of itself, idle or busy."""

import threading
from functools import partial

import pytest

from application.context import Context
from domain.jobs.outcome import Completed, Outcome
from tests.fixtures.database import TestDatabase
from tests.fixtures.workers import (
    Args,
    enqueue,
    facts,
    history,
    is_over,
    kind,
    until,
    wait_at_work,
    worker_here,
)
from tests.processor.holds.conftest import ANN, HOUR, Desk
from tests.processor.rig import NOOP

pytestmark = [pytest.mark.database, pytest.mark.usefixtures("heads_equal_folds")]

ONE = {"default": 1, "bulk": 1}


class Door:
    """A handler that waits until it is let go."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self._open = threading.Event()
        self.kind = kind("waiting", self.handle)

    def handle(self, _args: Args, _ctx: Context) -> Outcome:
        self.begun.set()
        self._open.wait(60)
        return Completed()

    def open(self) -> None:
        self._open.set()


@pytest.fixture
def door() -> Door:
    return Door()


@pytest.mark.parametrize("how", ["polls", "listens"])
def test_an_idle_worker_notices_a_pause_and_its_end(
    how: str, desk: Desk, database: TestDatabase
) -> None:
    url = database.conninfo if how == "listens" else None
    with worker_here(database, NOOP, listen_url=url):
        wait_at_work(desk.connection)
        desk.pause()
        job = enqueue(desk.connection, "noop")
        other = enqueue(desk.connection, "noop", queue="bulk")
        until(partial(_has_run, desk, other))

        assert history(desk.connection, job) == ["enqueued"]
        desk.queues.resume("default", ANN)
        until(lambda: is_over(desk.connection))
        desk.pause()
        enqueue(desk.connection, "noop")
        desk.database.advance(HOUR)
        until(lambda: is_over(desk.connection))


def _has_run(desk: Desk, job: object) -> bool:
    rows = desk.connection.execute(
        "SELECT 1 FROM counterfoil.jobs WHERE stream_id = %s", (job,)
    )
    return rows.fetchone() is None


@pytest.mark.parametrize("cause", ["draining", "queue_paused"])
def test_what_waits_claimed_is_given_back_and_what_runs_goes_on(
    cause: str, desk: Desk, database: TestDatabase, door: Door
) -> None:
    first = enqueue(desk.connection, "waiting")
    with worker_here(database, NOOP, door.kind, queues=ONE) as (worker, _):
        assert door.begun.wait(30)
        behind = enqueue(desk.connection, "noop")
        until(lambda: "claimed" in history(desk.connection, behind))
        if cause == "draining":
            desk.drain(str(worker.owner.boot), ANN)
        else:
            desk.pause()

        until(lambda: "released" in history(desk.connection, behind))
        (told,) = facts(desk.connection, behind, "job.released")
        assert told["cause"] == cause
        assert history(desk.connection, first) == ["enqueued", "claimed"]
        door.open()
        until(lambda: history(desk.connection, first)[-1] == "succeeded")
        assert history(desk.connection, behind)[-1] == "released"
        ((attempt,),) = desk.connection.execute(
            "SELECT attempt FROM counterfoil.jobs WHERE stream_id = %s", (behind,)
        ).fetchall()
        assert attempt == 0


def test_a_busy_worker_stops_claiming_what_is_paused(
    desk: Desk, database: TestDatabase
) -> None:
    """Whose every claim gets all that it asks for, so that it never looks."""
    brief = kind("brief", take_5_ms)
    with worker_here(database, brief, queues=ONE):
        desk.connection.execute(
            """
            SELECT count(*) FROM counterfoil.enqueue_many(ARRAY(
                SELECT jsonb_build_object('kind', 'brief')
                  FROM generate_series(1, 900)))
            """
        )
        wait_until_some_ran(desk)
        desk.pause()

        paused_at = _last_claim(desk)
        until(lambda: not _runs(desk))
        assert _last_claim(desk) == paused_at
        assert not is_over(desk.connection)
        desk.queues.resume("default", ANN)
        until(lambda: _last_claim(desk) > paused_at)


def take_5_ms(_args: Args, _ctx: Context) -> Outcome:
    threading.Event().wait(0.005)
    return Completed()


def wait_until_some_ran(desk: Desk) -> None:
    until(lambda: _last_claim(desk) > 0)


def _last_claim(desk: Desk) -> int:
    row = desk.connection.execute(
        """
        SELECT coalesce(max(position), 0) FROM counterfoil.events
         WHERE type = 'job.claimed'
        """
    ).fetchone()
    assert row is not None
    return int(row[0])


def _runs(desk: Desk) -> bool:
    rows = desk.connection.execute(
        "SELECT 1 FROM counterfoil.jobs WHERE state = 'running' LIMIT 1"
    )
    return rows.fetchone() is not None


def test_a_full_queue_goes_on_as_soon_as_a_job_of_it_has_ended(
    desk: Desk, database: TestDatabase
) -> None:
    desk.limit(1)
    with worker_here(database, NOOP), worker_here(database, NOOP):
        for _ in range(40):
            enqueue(desk.connection, "noop")
        until(lambda: is_over(desk.connection))
