"""S20 over HTTP: a cancel at every moment of a job's life, with real processes.

Judges: what handlers have written down (`witness`), and the log.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from api.http.surface import Surface
from tests.crash.http.conftest import SURFACES, Connection, Desk, said
from tests.fixtures.proxy import Proxy
from tests.fixtures.workers import Gate, WorkerProcess, is_over, until

pytestmark = [pytest.mark.crash, pytest.mark.usefixtures("heads_equal_folds")]

FAR = "2999-01-01T00:00:00Z"
REFUSED = (409, "state_conflict")
CANCELLED = (200, ["job.cancelled"])
ASKED = (202, ["job.cancel_requested"])
SO_ALREADY: tuple[int, list[str]] = (200, [])
CLOSED = {
    "active": True,
    "operatorId": "anna",
    "noticeRu": "Идут работы",
    "noticeEn": "Maintenance",
}

HOLD_BEATS = """
CREATE FUNCTION beat_by_beat() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock_shared(4711, NEW.pid);
    INSERT INTO beats (pid) VALUES (NEW.pid);
    RETURN NEW;
END $$;
CREATE TABLE beats (pid integer);
CREATE TRIGGER beat_by_beat BEFORE UPDATE ON counterfoil.workers
    FOR EACH ROW EXECUTE FUNCTION beat_by_beat();
"""


def test_s20_what_waits_or_is_parked_is_cancelled_at_once_and_never_starts(
    desk: Desk,
) -> None:
    desk.worker()
    ops = desk.at(Surface.ADMIN)
    pause = {"expiresAt": (datetime.now(UTC) + timedelta(hours=1)).isoformat()}
    assert ops.put("/maintenance", json=CLOSED).status_code == 200
    assert ops.put("/queues/bulk/pause", json=pause).status_code == 200
    jobs = {
        surface: {
            "waiting": desk.enqueue(runAt=FAR),
            "due in a paused queue": desk.enqueue(queue="bulk"),
            "parked": desk.enqueue("parking"),
            "held at a closed gate": desk.enqueue("gated"),
        }
        for surface in SURFACES
    }
    for mine in jobs.values():
        until(partial(desk.is_parked, mine["parked"]))
        until(partial(desk.is_parked, mine["held at a closed gate"]))

    for surface, mine in jobs.items():
        for state, job in mine.items():
            key = f"cancel-{job}"
            assert said(desk.cancel(job, surface, key)) == CANCELLED, state
            assert said(desk.cancel(job, surface, key)) == SO_ALREADY, state
            assert said(desk.cancel(job, surface)) == SO_ALREADY, state
    assert ops.delete("/queues/bulk/pause").status_code == 204
    assert ops.put("/maintenance", json=CLOSED | {"active": False}).status_code == 200
    for queue in ("default", "bulk"):  # whatever was before them would have begun
        desk.enqueue("noop", queue=queue)
    until(lambda: is_over(desk.connection))

    for mine in jobs.values():
        for state, job in mine.items():
            was_held = state == "held at a closed gate"
            assert desk.ends(job) == ["cancelled"], state
            assert desk.witnesses.story(job) == ["enters", "leaves"] * was_held
            assert desk.records(job) == 2, "under its key once, and once without it"


class Beats:
    """Lets the heartbeats of workers through one by one."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        connection.execute(HOLD_BEATS)

    def hold(self, worker: WorkerProcess) -> None:
        """Return when no heartbeat is under way, and none will be."""
        self._connection.execute("SELECT pg_advisory_lock(4711, %s)", (worker.pid,))

    @contextmanager
    def one(self, worker: WorkerProcess) -> Iterator[None]:
        """Let one go through, the one that waits, and see to it that it was one."""
        before = self._n(worker)
        until(lambda: self._waits(worker))
        # Whoever waits comes next; then it is held again, before there is another.
        self._connection.execute(
            "SELECT pg_advisory_unlock(4711, %(pid)s), pg_advisory_lock(4711, %(pid)s)",
            {"pid": worker.pid},
        )
        yield
        assert self._n(worker) == before + 1
        self._connection.execute("SELECT pg_advisory_unlock(4711, %s)", (worker.pid,))

    def _n(self, worker: WorkerProcess) -> int:
        ((n,),) = self._connection.execute(
            "SELECT count(*) FROM beats WHERE pid = %s", (worker.pid,)
        ).fetchall()
        return int(n)

    def _waits(self, worker: WorkerProcess) -> bool:
        ((n,),) = self._connection.execute(
            """
            SELECT count(*)
              FROM pg_locks
             WHERE locktype = 'advisory'
               AND classid = 4711
               AND objid = %s
               AND NOT granted
            """,
            (worker.pid,),
        ).fetchall()
        return bool(n)


@pytest.mark.parametrize("listens", [True, False], ids=["listener lost", "no listener"])
def test_s20_what_runs_learns_of_it_by_the_next_heartbeat(
    desk: Desk, gate: Gate, *, listens: bool
) -> None:
    """A cancel is no notice: nobody has to hear one."""
    worker = desk.worker(heartbeat_seconds=0.5, listens=listens)
    jobs = {surface: desk.enqueue(args={"n": 1}) for surface in SURFACES}
    calls = [gate.wait_call(job=job) for job in jobs.values()]
    beats = Beats(desk.connection)
    desk.connection.execute(
        """
        SELECT pg_terminate_backend(pid)
          FROM pg_stat_activity
         WHERE application_name = 'counterfoil notices'
           AND datname = current_database()
        """
    )

    beats.hold(worker)
    for surface, job in jobs.items():
        assert said(desk.cancel(job, surface)) == ASKED
        assert said(desk.cancel(job, surface)) == (202, [])
    assert all("hears" not in desk.witnesses.story(job) for job in jobs.values())
    with beats.one(worker):
        for job in jobs.values():
            until(partial(desk.witnesses.has_heard, job))
    until(lambda: is_over(desk.connection))

    assert len(calls) == len(SURFACES)
    for job in jobs.values():
        assert desk.tags(job) == [
            "enqueued",
            "claimed",
            "cancel_requested",
            "cancelled",
        ]
        assert desk.witnesses.story(job) == ["enters", "hears", "leaves"]
        assert desk.records(job) == 2


@pytest.mark.parametrize(
    ("word", "end"),
    [("complete", "succeeded"), ("retry", "cancelled"), ("park", "cancelled")],
)
def test_s20_what_finishes_after_all_has_succeeded_and_what_does_not_is_cancelled(
    word: str, end: str, desk: Desk, gate: Gate
) -> None:
    desk.worker()
    job = desk.enqueue()
    call = gate.wait_call(job=job)

    assert said(desk.cancel(job)) == ASKED
    call.answer(word)
    until(lambda: desk.ends(job))

    assert desk.ends(job) == [end]
    if end == "succeeded":
        for surface in SURFACES:
            assert said(desk.cancel(job, surface)) == REFUSED
            assert said(desk.retry(job, surface)) == REFUSED
    assert desk.ends(job) == [end]
    assert desk.witnesses.most_at_once(job) == 1


def test_s20_who_cancels_at_the_moment_of_the_end_is_told_how_it_ended(
    desk: Desk, gate: Gate, proxy: Proxy
) -> None:
    """The COMMIT of the success waits; so does the cancel, for the job's lock."""
    desk.worker(proxy.conninfo)
    job = desk.enqueue()
    call = gate.wait_call(job=job)
    held = proxy.hold_commit_answer("job.succeeded")

    call.answer("complete")
    held.wait()
    answer = desk.cancel(job)

    assert said(answer) == REFUSED
    assert desk.ends(job) == ["succeeded"]


def test_s20_cancels_that_race_with_the_end_leave_one_terminal_state(
    desk: Desk,
) -> None:
    desk.database.advance(timedelta(minutes=10))
    for _ in range(2):
        desk.worker()
    told = {}

    with ThreadPoolExecutor(len(SURFACES)) as everybody:
        for _ in range(25):
            job = desk.enqueue("noop")
            answers = everybody.map(partial(desk.cancel, job), SURFACES)
            told[job] = [said(answer) for answer in answers]
    until(lambda: is_over(desk.connection))

    for job, each in told.items():
        (end,) = desk.ends(job)
        statuses = {status for status, _ in each}
        if end == "cancelled":
            assert statuses <= {200, 202}, each
        else:
            assert statuses <= {409, 202}, each
