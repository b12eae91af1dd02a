"""Gauges of the installation are true, and a scrape asks nobody."""

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

import pytest
from prometheus_client import generate_latest

from domain.event import Actor
from domain.goods.commands import Decide, LoseTrack, OpenReview
from domain.jobs.outcome import Gated
from infrastructure.client import Client
from infrastructure.guards.journal import FileJournal
from infrastructure.postgres.database import Database
from infrastructure.sampling.sampler import Sampler
from infrastructure.telemetry.metrics.meter import Metrics
from tests.fixtures.database import TestDatabase
from tests.fixtures.maintenance import Maintenance
from tests.fixtures.read_models import project
from tests.fixtures.workers import enqueue
from tests.guards.buyer import Buyer
from tests.metrics.scrape import Scrape, metered
from tests.performance.shop import fulfil, order, processor
from tests.processor.rig import NOOP, rig

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

    assert some(scrape.of("jobs")) == {
        ("default", "ready"): 2,
        ("default", "retryable"): 1,
        ("bulk", "ready"): 1,
        ("bulk", "scheduled"): 2,
    }
    oldest = scrape.of("queue_oldest_ready_age_seconds")
    assert all(40 <= oldest[queue,] < 60 for queue in ("default", "bulk"))
    assert oldest["critical",] == 0


def test_lines_suspects_and_gates_are_counted_where_they_wait(
    database: TestDatabase,
) -> None:
    maintenance = Maintenance(database)
    with rig(database, NOOP) as parts:
        for _ in range(6):
            enqueue(parts.connection, "noop")
        parts.connection.execute(
            """
            UPDATE counterfoil.jobs SET in_line = true, tenant_id = 'blue'
             WHERE stream_id IN (SELECT stream_id FROM counterfoil.jobs LIMIT 2)
            """
        )
        maintenance.begin()
        (held, died, _) = parts.claim(3)
        parts.settle(held, Gated(gate="panel", cause="maintenance_active"))
        parts.connection.execute(
            "UPDATE counterfoil.jobs SET is_suspect = true WHERE stream_id = %s",
            (died.job.id,),
        )
        with metered(database) as meters:
            running = meters.scrape()
            assert parts.die() == 2
            rescued = meters.scrape()

    states = {"ready": 3, "running": 2, "held": 1}
    assert some(running.of("jobs")) == {("default", it): n for it, n in states.items()}
    assert running("maintenance_active", source="manual") == 1
    waiting = some(rescued.of("jobs"))
    assert waiting == {("default", "ready"): 5, ("default", "held"): 1}


def some(samples: Mapping[tuple[str, ...], float]) -> dict[tuple[str, ...], float]:
    """Return those that are not zero."""
    return {labels: value for labels, value in samples.items() if value}


def test_what_nobody_knows_of_purchases_is_told_by_age(
    database: TestDatabase, tmp_path: Path
) -> None:
    lost = LoseTrack(code="timeout", is_sender_gone=True)
    again = Decide(
        verdict="buy_again",
        evidence="the statement",
        by=Actor("operator", "olga"),
        is_override=True,
        needs_second=False,
    )
    with Database(database.conninfo, pool_size=2) as pool, metered(database) as meters:
        buyer = Buyer(pool, FileJournal(tmp_path / "journal"))
        first, second = buyer.owe(2)
        for each in (first, second):
            buyer.command(each)
            buyer.command(each, lost)
            database.advance(timedelta(minutes=10))
        open_ = meters.scrape()
        buyer.command(first, OpenReview("timeout"))
        buyer.command(first, again)
        decided = meters.scrape()

    age = "delivery_ambiguous_oldest_age_seconds"
    assert open_("deliveries", state="submitted") == 2
    assert open_("deliveries_ambiguous", provider="stars") == 2
    assert 1_200 <= open_(age, provider="stars") < 1_260
    assert open_("duplicate_submission_suspects", provider="stars") == 0
    assert decided("deliveries_ambiguous", provider="stars") == 1
    assert 600 <= decided(age, provider="stars") < 660
    assert decided("duplicate_submission_suspects", provider="stars") == 1


def test_a_paid_order_without_work_is_seen_and_what_is_held_is_no_such_order(
    database: TestDatabase, tmp_path: Path
) -> None:
    client = Client(database.connect())
    maintenance = Maintenance(database)
    maintenance.begin()
    with processor(database, tmp_path) as parts, metered(database) as meters:
        client.settle_order(order(1))
        assert fulfil(parts) == 2
        client.settle_order(order(2))
        project(parts.pool)
        held = meters.scrape()
        parts.connection.execute(
            "DELETE FROM counterfoil.jobs WHERE kind = 'order_fanout'"
        )
        lost = meters.scrape()

    assert held("operation_holds", cause="maintenance") == 1
    assert held("operations", operation="create", state="retrying") == 1
    assert held("paid_orders_without_work") == 0
    assert lost("paid_orders_without_work") == 1


def test_a_name_with_quotes_and_newlines_is_one_label(database: TestDatabase) -> None:
    name = 'a"} 1\n# b\\'
    connection = database.connect()
    enqueue(connection, "mail")
    connection.execute("UPDATE counterfoil.jobs SET queue = %s", (name,))

    with metered(database) as meters:
        scrape = meters.scrape()

    assert some(scrape.of("jobs")) == {(name, "ready"): 1}


def test_what_is_gone_is_not_told_any_more(database: TestDatabase) -> None:
    connection = database.connect()
    enqueue(connection, "mail")
    with metered(database) as meters:
        before = meters.scrape()
        connection.execute("DELETE FROM counterfoil.jobs")

        after = meters.scrape()

    assert some(before.of("jobs")) == {("default", "ready"): 1}
    assert some(after.of("jobs")) == {}


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
    assert again.of("jobs") == later.of("jobs")
    assert some(again.of("jobs")) == {("default", "ready"): 1}


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
