"""The answer of COMMIT is lost: done once, or repeated once (mechanisms 10)."""

import threading
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from application.unit import Group, Locked, Refused
from domain.event import Instant
from domain.stream import Change, Ref
from infrastructure.postgres.batch_store import BatchStore
from tests.fixtures.database import TestDatabase
from tests.fixtures.proxy import Plan, Proxy
from tests.fixtures.workers import until
from tests.store.groups import (
    CLAIM,
    META,
    births,
    commanding,
    job_birth,
    operation_birth,
    step,
    tags,
    written,
)

pytestmark = [pytest.mark.crash, pytest.mark.usefixtures("heads_equal_folds")]

type Cut = Callable[[Proxy], Plan]


def answer(proxy: Proxy) -> Plan:
    return proxy.cut_commit_answer()


def request(proxy: Proxy) -> Plan:
    return proxy.cut_before_commit()


def counted(group: Group, calls: list[int]) -> Group:
    """Return the group, counting how often it decides."""

    def decide(locked: Locked, now: Instant) -> tuple[Change, ...] | Refused:
        calls.append(len(locked))
        return group.decide(locked, now)

    return Group(refs=group.refs, decide=decide, meta=group.meta)


@pytest.mark.parametrize(("cut", "decisions"), [(answer, 1), (request, 2)])
def test_a_step_of_a_living_stream_is_done_once(
    cut: Cut,
    decisions: int,
    database: TestDatabase,
    proxy: Proxy,
    cut_store: BatchStore,
) -> None:
    job = job_birth()
    written(cut_store.commit([births(job)])[0])
    calls: list[int] = []
    plan = cut(proxy)

    (result,) = cut_store.commit(
        [counted(step(job.ref, make=commanding(CLAIM)), calls)]
    )

    plan.wait()
    assert written(result).position == 2 if cut is answer else 3
    assert tags(database.connect(), job.ref) == ["job.enqueued", "job.claimed"]
    assert len(calls) == decisions


@pytest.mark.parametrize(("cut", "decisions"), [(answer, 1), (request, 2)])
def test_births_alone_are_done_once(
    cut: Cut,
    decisions: int,
    database: TestDatabase,
    proxy: Proxy,
    cut_store: BatchStore,
) -> None:
    """No head is there to lock, so nothing waits for the old backend."""
    job, operation = job_birth(unique_key="u"), operation_birth()
    calls: list[int] = []
    plan = cut(proxy)

    (result,) = cut_store.commit([counted(births(job, operation), calls)])

    plan.wait()
    assert {change.ref for change in written(result).changes} == {
        job.ref,
        operation.ref,
    }
    connection = database.connect()
    assert tags(connection, job.ref) == ["job.enqueued"]
    assert tags(connection, operation.ref) == ["fulfillment.requested"]
    assert len(calls) == decisions


def test_births_whose_old_backend_is_still_committing_are_done_once(
    database: TestDatabase, proxy: Proxy, cut_store: BatchStore
) -> None:
    """The repetition meets rows that are not there yet, and finds its own id then."""
    connection, holding = database.connect(), database.connect()
    connection.execute(
        """
        CREATE FUNCTION counterfoil.test_slow() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            PERFORM pg_advisory_xact_lock_shared(4711);
            RETURN NULL;
        END $$;
        CREATE CONSTRAINT TRIGGER test_slow AFTER INSERT ON counterfoil.jobs
            DEFERRABLE INITIALLY DEFERRED
            FOR EACH ROW EXECUTE FUNCTION counterfoil.test_slow()
        """
    )
    job = job_birth()
    results: list[object] = []
    with holding.transaction():
        holding.execute("SELECT pg_advisory_xact_lock(4711)")
        thread = threading.Thread(
            target=lambda: results.extend(cut_store.commit([births(job)]))
        )
        thread.start()
        wait_until_waiting(connection, "advisory")
        proxy.close_all()  # the server goes on committing; nobody listens
        wait_until_waiting(connection, "transactionid")
    thread.join(30)

    assert len(results) == 1
    assert tags(connection, job.ref) == ["job.enqueued"]


def wait_until_waiting(connection: psycopg.Connection[Any], event: str) -> None:
    """Return once a backend waits for a lock of that kind."""
    until(
        lambda: connection.execute(
            """
            SELECT 1 FROM pg_stat_activity
             WHERE datname = current_database() AND wait_event = %s
            """,
            (event,),
        ).fetchone()
    )


def test_every_cut_in_a_row_is_survived(
    database: TestDatabase, proxy: Proxy, cut_store: BatchStore
) -> None:
    job = job_birth()
    written(cut_store.commit([births(job)])[0])
    proxy.cut_before_commit()
    proxy.cut_before_commit()
    proxy.cut_commit_answer()
    last = proxy.cut_commit_answer()  # of the look for the id

    (result,) = cut_store.commit([step(job.ref, make=commanding(CLAIM))])

    last.wait()
    written(result)
    assert tags(database.connect(), job.ref) == ["job.enqueued", "job.claimed"]


def test_a_refusal_needs_no_look(
    database: TestDatabase, proxy: Proxy, cut_store: BatchStore
) -> None:
    calls: list[int] = []
    refs: tuple[Ref, ...] = ()
    refusing = Group(refs=refs, decide=lambda *_: Refused("no"), meta=META)
    plan = proxy.cut_commit_answer()

    assert cut_store.commit([counted(refusing, calls)]) == [Refused("no")]

    plan.wait()
    assert len(calls) == 2
    assert tags(database.connect()) == []
