"""I13: a worker finishes everything that is ready, whatever lies beside it."""

import threading
import time
from collections import Counter
from functools import partial
from typing import Any

import psycopg
import pytest

from application.context import Context
from domain.jobs.aggregate import Cancel
from domain.jobs.backoff import Backoff
from domain.jobs.outcome import Completed, Outcome, Retry
from domain.jobs.verdict import Budget
from domain.stream import Ref, StreamKind
from infrastructure.postgres.batch_store import BatchStore
from infrastructure.postgres.database import Database
from infrastructure.processor.slots import LEAST_PREFETCH
from tests.fixtures.database import ON_BOTH_SERVERS, TestDatabase
from tests.fixtures.proxy import Proxy
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
from tests.processor.rig import NOOP
from tests.store.groups import commanding, step

pytestmark = [ON_BOTH_SERVERS, pytest.mark.usefixtures("heads_equal_folds")]

SOON = Budget(max_attempts=3, backoff=Backoff(base_seconds=0.001, cap_exponent=0))


def enqueue_many(connection: psycopg.Connection[Any], n: int, name: str) -> None:
    connection.execute(
        """
        SELECT counterfoil.enqueue(jsonb_build_object('kind', %s::text))
          FROM generate_series(1, %s)
        """,
        (name, n),
    )


def test_jobs_are_claimed_run_and_succeeded(database: TestDatabase) -> None:
    connection = database.connect()
    enqueue_many(connection, 1_000, "noop")

    with worker_here(database, NOOP):
        until(lambda: is_over(connection))

    rows = connection.execute(
        "SELECT type, count(*) FROM counterfoil.events GROUP BY 1"
    )
    assert dict(rows.fetchall()) == {
        "job.enqueued": 1_000,
        "job.claimed": 1_000,
        "job.succeeded": 1_000,
    }
    messages = connection.execute("SELECT count(*) FROM counterfoil.outbox").fetchone()
    assert messages == (1_000,)


def test_s25_bad_rows_beside_a_hundred_good_ones(database: TestDatabase) -> None:
    """Each ends classified or stays visible; nobody waits, and nothing spins."""
    connection = database.connect()
    unknown = enqueue(connection, "never_heard_of")
    undecodable = enqueue(connection, "noop", args={"n": "of a future version"})
    late = enqueue(connection, "noop", deadline="2026-01-01T00:00:00Z")
    spent = enqueue(connection, "noop")
    beyond = enqueue(connection, "noop", queue="nobody_serves_this")
    connection.execute(
        "UPDATE counterfoil.jobs SET attempt = 3 WHERE stream_id = %s", (spent,)
    )
    enqueue_many(connection, 100, "noop")

    begun = time.monotonic()
    with worker_here(database, NOOP):
        until(lambda: n_live(connection) == 2)
        took = time.monotonic() - begun
        claims = n_claims(connection)
        until(lambda: time.monotonic() - begun > took + 1)  # a second of idling
        assert n_claims(connection) == claims == 103

    for job, code in (
        (undecodable, "undecodable"),
        (late, "deadline_exceeded"),
        (spent, "budget_spent"),
    ):
        assert history(connection, job) == ["enqueued", "claimed", "discarded"]
        assert facts(connection, job, "job.discarded")[0]["code"] == code
    assert facts(connection, undecodable, "job.discarded")[0]["attempt"] == 0
    assert history(connection, unknown) == history(connection, beyond) == ["enqueued"]
    dead = connection.execute("SELECT stream_id FROM counterfoil.jobs_dead").fetchall()
    assert {row[0] for row in dead} == {undecodable, late, spent}
    forget_the_forced_row(connection, spent)


def forget_the_forced_row(connection: psycopg.Connection[Any], job: object) -> None:
    with connection.transaction():
        connection.execute("SET LOCAL session_replication_role = replica")
        for table in ("jobs_dead", "events"):
            connection.execute(
                f"DELETE FROM counterfoil.{table} WHERE stream_id = %s",  # noqa: S608 - one of two names
                (job,),
            )


def n_live(connection: psycopg.Connection[Any]) -> int:
    rows = connection.execute("SELECT count(*) FROM counterfoil.jobs").fetchall()
    return int(rows[0][0])


def n_claims(connection: psycopg.Connection[Any]) -> int:
    rows = connection.execute(
        "SELECT count(*) FROM counterfoil.events WHERE type = 'job.claimed'"
    ).fetchall()
    return int(rows[0][0])


def has_claimed(connection: psycopg.Connection[Any], n: int) -> bool:
    return n_claims(connection) >= n


def no_outcome(_args: Args, _ctx: Context) -> Outcome:
    return None  # type: ignore[return-value] # what a forgotten `return` does


def exits(_args: Args, _ctx: Context) -> Outcome:
    raise SystemExit(3)


class UnspeakableError(Exception):
    def __str__(self) -> str:
        raise ValueError


def unspeakable(_args: Args, _ctx: Context) -> Outcome:
    raise UnspeakableError


def bad_number(_args: Args, _ctx: Context) -> Outcome:
    return Retry(code="x", not_before_seconds=float("nan"))


def wrong_type(_args: Args, _ctx: Context) -> Outcome:
    return Retry(code=7)  # type: ignore[arg-type] # wrong on purpose


def bad_progress(_args: Args, ctx: Context) -> Outcome:
    ctx.progress({"x": object()})
    return Completed()


ODD = [no_outcome, exits, unspeakable, bad_number, wrong_type, bad_progress]


def test_no_odd_handler_ends_a_thread_or_loops(database: TestDatabase) -> None:
    """I13, S23: each spends its budget and is dead; the good ones go on."""
    connection = database.connect()
    kinds = [kind(each.__name__, each, budget=SOON) for each in ODD]
    jobs = [enqueue(connection, each.name) for each in kinds for _ in range(3)]
    enqueue_many(connection, 30, "noop")

    with worker_here(database, NOOP, *kinds, queues={"default": 2}):
        until(lambda: is_over(connection))

    for job in jobs:
        assert history(connection, job).count("claimed") == SOON.max_attempts
        (dead,) = facts(connection, job, "job.discarded")
        assert (dead["code"], dead["attempt"]) == ("budget_spent", 3)


def unencodable(_args: Args, _ctx: Context) -> Outcome:
    return Completed(result={"x": object()})


def test_a_result_that_is_no_json_ends_its_job(database: TestDatabase) -> None:
    connection = database.connect()
    job = enqueue(connection, "unencodable")

    with worker_here(database, kind("unencodable", unencodable)):
        until(lambda: is_over(connection))

    (dead,) = facts(connection, job, "job.discarded")
    assert dead["code"] == "unstorable_result"


@pytest.mark.parametrize("attempt", [40, 1_000, 2**31 - 2, 2**31 - 1])
def test_s9_forced_counters_go_through_claim_and_failure(
    attempt: int, database: TestDatabase
) -> None:
    connection = database.connect()
    budget = Budget(max_attempts=2**31 - 1)
    failing = kind("failing", lambda _args, _ctx: Retry(code="x"), budget=budget)
    job = enqueue(connection, "failing")
    connection.execute("UPDATE counterfoil.jobs SET attempt = %s", (attempt,))

    with worker_here(database, failing):
        until(lambda: len(history(connection, job)) == 3)

    if attempt < 2**31 - 2:
        rows = connection.execute(
            """
            SELECT attempt, run_at - counterfoil.now() BETWEEN '1100 s' AND '1280 s'
              FROM counterfoil.jobs
            """
        ).fetchall()
        assert rows == [(attempt + 1, True)]
    else:
        (dead,) = facts(connection, job, "job.discarded")
        assert (dead["code"], dead["attempt"]) == ("budget_spent", 2**31 - 1)
    with connection.transaction():
        connection.execute("SET LOCAL session_replication_role = replica")
        connection.execute(
            "TRUNCATE counterfoil.jobs, counterfoil.jobs_dead, counterfoil.events"
        )


def test_the_hard_deadline_spends_the_attempt(database: TestDatabase) -> None:
    connection = database.connect()
    go_on, contexts = threading.Event(), list[Context]()

    def hang(_args: Args, ctx: Context) -> Outcome:
        contexts.append(ctx)
        go_on.wait(30)
        return Completed()

    hanging = kind("hanging", hang, deadline_seconds=1, call_seconds=1, budget=SOON)
    job = enqueue(connection, "hanging", maxAttempts=1)
    with worker_here(database, hanging):
        until(lambda: is_over(connection))
        assert contexts[0].seconds_left == 0
        assert not contexts[0].may_begin()
        go_on.set()  # its late success counts for nothing

    (dead,) = facts(connection, job, "job.discarded")
    assert (dead["code"], dead["error_code"]) == ("budget_spent", "handler_timeout")


def test_kinds_that_ask_a_provider_are_claimed_into_free_slots_only(
    database: TestDatabase,
) -> None:
    """Mechanisms 20: none waits here while its lease runs."""
    connection = database.connect()
    gate = threading.Semaphore(0)

    def ask(_args: Args, ctx: Context) -> Outcome:
        assert ctx.may_begin()
        gate.acquire(timeout=30)
        return Completed()

    enqueue_many(connection, 10, "asking")
    with worker_here(
        database, kind("asking", ask, asks_provider=True), queues={"default": 3}
    ):
        until(lambda: n_claims(connection) == 3)
        for n in range(10):
            gate.release()
            until(partial(has_claimed, connection, min(4 + n, 10)))
            assert n_claims(connection) <= 4 + n
        until(lambda: is_over(connection))


def has_run_rare(ran: list[str], tick: threading.Semaphore) -> bool:
    """Return whether it ran; let one more of the others end."""
    tick.release()
    return "rare" in ran


def test_i13_a_full_buffer_does_not_starve_those_that_ask_a_provider(
    database: TestDatabase,
) -> None:
    connection = database.connect()
    ran: list[str] = []
    tick = threading.Semaphore(0)

    def common(_args: Args, _ctx: Context) -> Outcome:
        tick.acquire(timeout=30)
        ran.append("common")
        return Completed()

    def rare(_args: Args, _ctx: Context) -> Outcome:
        ran.append("rare")
        return Completed()

    enqueue_many(connection, 300, "common")
    kinds = [kind("common", common), kind("rare", rare, asks_provider=True)]
    with worker_here(database, *kinds, queues={"default": 1}):
        until(lambda: n_claims(connection) == LEAST_PREFETCH)
        enqueue(connection, "rare")
        until(partial(has_run_rare, ran, tick))
        assert len(ran) < 300
        tick.release(300)
        until(lambda: is_over(connection))
    assert Counter(ran) == {"common": 300, "rare": 1}


def test_a_process_runs_no_more_at_once_than_its_cap(database: TestDatabase) -> None:
    connection = database.connect()
    lock, now, most = threading.Lock(), [0], [0]
    both = threading.Barrier(2)

    def count(_args: Args, _ctx: Context) -> Outcome:
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        both.wait(30)
        with lock:
            now[0] -= 1
        return Completed()

    for queue in ("critical", "default", "bulk"):
        for _ in range(4):
            enqueue(connection, "counted", queue=queue)
    with worker_here(database, kind("counted", count), max_concurrent=2):
        until(lambda: is_over(connection))
    assert most == [2]


def test_a_running_job_learns_that_it_is_cancelled(database: TestDatabase) -> None:
    """S20: within one heartbeat; a waiting one never starts."""
    connection = database.connect()
    begun = threading.Event()

    def watch(_args: Args, ctx: Context) -> Outcome:
        begun.set()
        until(lambda: ctx.cancel_requested)
        return Retry(code="interrupted")

    job = enqueue(connection, "watching")
    with (
        Database(database.conninfo, pool_size=2) as pool,
        worker_here(database, kind("watching", watch), heartbeat_seconds=0.2),
    ):
        assert begun.wait(30)
        cancel = step(Ref(StreamKind.JOB, job), make=commanding(Cancel()))
        BatchStore(pool).commit([cancel])
        until(lambda: is_over(connection))

    assert history(connection, job)[2:] == ["cancel_requested", "cancelled"]


def test_a_claim_whose_answer_was_lost_is_adopted(
    database: TestDatabase, proxy: Proxy
) -> None:
    """Mechanisms 10: found by its claim id, run once, and costs one attempt."""
    connection = database.connect()
    for cut, adopted in ((proxy.cut_commit_answer, 1), (proxy.cut_before_commit, 0)):
        with worker_here(proxy.conninfo, NOOP) as (_, events):
            wait_at_work(connection)
            plan = cut(of="'job.claimed'")
            job = enqueue(connection, "noop")
            plan.wait()
            until(lambda: is_over(connection))
            told = events.of("claim adopted")
        assert [(each["jobs"], each["of"]) for each in told] == [(adopted, 1)]
        assert history(connection, job) == ["enqueued", "claimed", "succeeded"]


def test_a_worker_whose_database_hangs_is_not_ready(
    database: TestDatabase, proxy: Proxy
) -> None:
    """No answer at all, which is worse than a refusal."""
    connection = database.connect()
    with worker_here(proxy.conninfo, NOOP, heartbeat_seconds=0.2) as (worker, _):
        until(worker.is_ready)
        with proxy.stalled():
            until(lambda: not worker.is_ready())
        until(worker.is_ready)
        enqueue(connection, "noop")
        until(lambda: is_over(connection))


def test_a_worker_is_ready_between_its_first_heartbeat_and_its_stop(
    database: TestDatabase,
) -> None:
    connection = database.connect()
    with worker_here(database, NOOP) as (worker, _):
        until(worker.is_ready)

    assert not worker.is_ready()
    rows = connection.execute(
        "SELECT kinds, stopped_at IS NOT NULL FROM counterfoil.workers"
    ).fetchall()
    assert rows == [(["noop"], True)]
