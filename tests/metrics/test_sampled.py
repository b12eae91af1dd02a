"""Gauges of the installation are true, and a scrape asks nobody."""

from datetime import timedelta

import pytest
from prometheus_client import generate_latest

from infrastructure.postgres.database import Database
from infrastructure.sampling.sampler import OLD_SECONDS, Sampler, Standing
from infrastructure.telemetry.metrics.meter import Metrics
from tests.fixtures.database import TestDatabase
from tests.fixtures.workers import enqueue
from tests.metrics.scrape import Scrape, metered

pytestmark = pytest.mark.database


def test_jobs_are_counted_by_queue_and_state(database: TestDatabase) -> None:
    connection = database.connect()
    for _ in range(3):
        enqueue(connection, "mail")
    for _ in range(2):
        enqueue(connection, "mail", queue="bulk", runAt="2090-01-01T00:00:00Z")
    enqueue(connection, "mail", queue="bulk")
    connection.execute(
        """
        UPDATE counterfoil.jobs
           SET cause = 'after_failure', run_at = counterfoil.now() + interval '1 min'
         WHERE stream_id = (SELECT stream_id FROM counterfoil.jobs
                             WHERE queue = 'default' LIMIT 1)
        """
    )
    database.advance(timedelta(seconds=40))

    with metered(database) as meters:
        scrape = meters.scrape()

    assert scrape.of("jobs") == {
        ("default", "ready"): 2,
        ("default", "retryable"): 1,
        ("bulk", "ready"): 1,
        ("bulk", "scheduled"): 2,
    }
    oldest = scrape.of("queue_oldest_ready_age_seconds")
    assert set(oldest) == {("default",), ("bulk",)}
    assert all(40 <= age < 60 for age in oldest.values())


def test_what_is_gone_is_not_told_any_more(database: TestDatabase) -> None:
    connection = database.connect()
    enqueue(connection, "mail")
    with metered(database) as meters:
        before = meters.scrape()
        connection.execute("DELETE FROM counterfoil.jobs")

        after = meters.scrape()

    assert before.of("jobs") == {("default", "ready"): 1}
    assert after.of("jobs") == {}


def test_who_holds_the_log_back_is_told_by_age(database: TestDatabase) -> None:
    holder = database.connect()
    with metered(database) as meters:
        free = meters.scrape()
        with holder.transaction():
            enqueue(holder, "mail")
            database.advance(timedelta(minutes=5))

            held = meters.scrape()

    assert free("log_horizon_age_seconds") == 0
    assert held("log_horizon_age_seconds") >= 300


def test_the_outbox_maintenance_and_the_guard_are_told(database: TestDatabase) -> None:
    connection = database.connect()
    with metered(database) as meters:
        calm = meters.scrape()
        connection.execute(
            """
            UPDATE counterfoil.restore_guard
               SET state = 'quarantined', since = counterfoil.now(), engaged_by = 'ann',
                   reason = 'a test', signs = '{asked}'
            """
        )
        engaged = meters.scrape()

    assert calm("maintenance_active", source="manual") == 0
    assert calm("outbox_pending") == 0
    assert calm("restore_quarantine") == 0
    assert engaged("restore_quarantine") == 1


def test_a_scrape_asks_nobody(database: TestDatabase) -> None:
    connection = database.connect()
    enqueue(connection, "mail")
    with metered(database) as meters:
        meters.scrape()
        enqueue(connection, "mail")

        again = meters.scrape(sample=False)

    # After the pool was closed, too.
    later = Scrape(generate_latest(meters.metrics.registry).decode())
    assert again.of("jobs") == later.of("jobs") == {("default", "ready"): 1}


def test_a_sample_that_is_old_is_not_shown(database: TestDatabase) -> None:
    now = [0.0]
    standing = Standing(clock=lambda: now[0])
    standing.replace([], at=0.0)
    with metered(database) as meters:
        with database.connect() as connection:
            meters.sampler.sample(connection)
        families = list(meters.sampler.standing.collect())
    standing.replace(families, at=0.0)

    now[0] = OLD_SECONDS - 0.1
    fresh = list(standing.collect())
    now[0] = OLD_SECONDS + 0.1
    old = list(standing.collect())

    assert fresh == families != []
    assert old == []


def test_the_thread_samples_and_says_that_the_database_is_up(
    database: TestDatabase,
) -> None:
    metrics = Metrics(version="1", schema="1")
    with Database(database.conninfo, pool_size=2) as pool:
        sampler = Sampler(pool, metrics.families, lambda: False)
        sampler.every_seconds = 0.02
        sampler.start()
        sampler.wait_sampled()
        sampler.stop()

    scrape = Scrape(generate_latest(metrics.registry).decode())
    assert scrape("dependency_up", dependency="database") == 1
    assert scrape("readiness") == 0
    assert set(scrape.of("db_pool_connections")) == {
        ("counterfoil", "idle"),
        ("counterfoil", "used"),
        ("counterfoil", "waited_for"),
    }


def test_without_a_database_the_thread_goes_on(database: TestDatabase) -> None:
    metrics = Metrics(version="1", schema="1")
    nowhere = Database(f"{database.conninfo}&port=1", pool_size=1)
    sampler = Sampler(nowhere, metrics.families, lambda: False)
    sampler.every_seconds = 0.02
    sampler.start()
    sampler.wait_told()
    sampler.stop()

    scrape = Scrape(generate_latest(metrics.registry).decode())
    assert scrape("dependency_up", dependency="database") == 0
