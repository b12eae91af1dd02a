"""Every family that is declared is set by what really happens, and nothing else is."""

import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from psycopg_pool import PoolTimeout

from application.intake.port import Asking
from application.unit import Group
from domain.access.permissions import Permission
from domain.goods.commands import Confirm
from domain.jobs.outcome import Completed, Fail, Outcome, Park, Retry, Snooze
from infrastructure.client import Client
from infrastructure.front_door import PostgresFrontDoor
from infrastructure.guards.journal import FileJournal
from infrastructure.installation import Services
from infrastructure.live.feed import Feed, FeedLimits
from infrastructure.postgres.batch_store import BatchStore
from infrastructure.postgres.database import Database
from infrastructure.postgres.pool.pool import Pool
from infrastructure.processor.identity import this_process
from infrastructure.projecting.projector import Projector
from infrastructure.projecting.runner.runner import ProjectionRunner
from infrastructure.providers.registry.metered import MeteredProvider
from tests.callbacks.stage import Shop, body_of, configure, signed
from tests.fixtures.database import TestDatabase
from tests.fixtures.http import api_over
from tests.fixtures.workers import enqueue, kind, until, worker_here
from tests.guards.buyer import Buyer
from tests.metrics.goods import Seller, purchase
from tests.metrics.scrape import Meters, Scrape, metered
from tests.performance.shop import fulfil, order, processor
from tests.processor.rig import NOOP, rig
from tests.providers.stage import OpenGuard
from tests.store.groups import META, job_birth

pytestmark = pytest.mark.database

ENDINGS: dict[str, Outcome] = {
    "well": Completed(),
    "again": Retry(code="told_to"),
    "never": Fail(code="told_to"),
    "later": Snooze(until=datetime(9000, 1, 1, tzinfo=UTC)),
    "held": Park(cause="told_to"),
}


@pytest.fixture
def meters(database: TestDatabase) -> Iterator[Meters]:
    with metered(database) as made:
        yield made


def run_jobs(database: TestDatabase) -> None:
    """One job of each ending; meanwhile the heartbeat loses its connection."""
    kinds = [
        kind(name, lambda *_, ending=ending: ending) for name, ending in ENDINGS.items()
    ]
    connection = database.connect()
    with worker_here(database, *kinds, heartbeat_seconds=0.5) as (_, events):
        for each in ENDINGS:
            enqueue(connection, each)
        events.wait_for("job settled", len(ENDINGS) - 1)
        events.wait_for("jobs settled")
        connection.execute(
            """
            SELECT pg_terminate_backend(pid) FROM pg_stat_activity
             WHERE application_name = 'counterfoil heartbeat'
               AND datname = current_database()
            """
        )
        enqueue(connection, "well")
        events.wait_for("heartbeat lost the database")


def lose_a_lease(database: TestDatabase) -> None:
    """A holder is silent for too long, is replaced, and speaks after all."""
    with rig(database, NOOP) as parts:
        enqueue(parts.connection, "noop")
        (held,) = parts.claim()
        assert parts.die() == 1
        parts.settle(held, Completed())


def race(database: TestDatabase, pool: Database) -> None:
    """A job is born twice under one id; another unit loses a race and is repeated."""
    store, born = BatchStore(pool), job_birth()
    group = Group((born.ref,), lambda *_: (born,), META)
    store.commit([group])
    store.commit([group])
    connection = database.connect()
    connection.execute("CREATE SEQUENCE counterfoil.test_races")
    connection.execute(
        """
        CREATE FUNCTION counterfoil.test_race() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF nextval('counterfoil.test_races') = 1 THEN
                RAISE EXCEPTION 'a race' USING ERRCODE = '40001';
            END IF;
            RETURN NULL;
        END $$;
        CREATE TRIGGER test_race AFTER INSERT ON counterfoil.events
            FOR EACH STATEMENT EXECUTE FUNCTION counterfoil.test_race();
        """
    )
    other = job_birth()
    store.commit([Group((other.ref,), lambda *_: (other,), META)])


def project(database: TestDatabase, pool: Database, meters: Meters) -> None:
    """A runner leads; one projection cannot be carried forward."""
    database.connect().execute("DELETE FROM counterfoil.projections WHERE name='audit'")
    runner = ProjectionRunner(pool, Projector(pool), this_process())
    runner.start()
    until(runner.is_ready)
    until(lambda: meters.scrape().of("operations"))
    runner.stop()


def exhaust(database: TestDatabase) -> None:
    """Somebody asks a pool that has nothing left to lend."""
    with (
        Pool(
            database.conninfo, min_size=1, max_size=1, open=True, name="exhausted"
        ) as pool,
        pool.connection(),
        pytest.raises(PoolTimeout),
    ):
        pool.getconn(timeout=0.05)


def sell(buyer: Buyer) -> None:
    """A line is bought of a provider, and another one nobody has bought yet."""
    delivery, _ = buyer.owe(2)
    buyer.command(delivery)
    MeteredProvider("stars", Seller()).submit(purchase(), OpenGuard())
    buyer.command(delivery, Confirm(decision=1, reference=None))


def fulfil_an_order(database: TestDatabase, folder: Path) -> None:
    """An order is settled, and the panel brought to it; another one is for later."""
    folder.mkdir()
    client = Client(database.connect())
    client.settle_order(order(1))
    client.settle_order(order(2) | {"effectiveAt": "2090-01-01T00:00:00Z"})
    with processor(database, folder) as parts:
        assert fulfil(parts) == 4, "the order whose goods were told of is over, too"


def tell(shop: Shop) -> None:
    """A provider calls back: twice, and with another's signature; so does nobody."""
    configure(shop.connection)
    body = body_of(shop.key(shop.bought()))
    headers = signed(body, shop.now())
    forged = headers | {"Webhook-Id": "evt_2"}
    told = [
        shop.send(*each) for each in ((headers, body), (headers, body), (forged, body))
    ]
    assert [it.status for it in told] == ["accepted", "duplicate", "rejected"]
    assert shop.send(headers, body, slug='"}\n# nobody').code == "unknown_provider"


def ask_the_api(database: TestDatabase, folder: Path, meters: Meters) -> None:
    """Somebody known, somebody unknown, and somebody who may not."""

    def following(n: int) -> bool:
        return meters.scrape(sample=False)("sse_clients") == n

    with api_over(database, folder, change=quickly_too_far) as api:
        rows = database.connect().execute("SELECT stream_id FROM counterfoil.jobs_dead")
        job = rows.fetchall()[0][0]
        admin = api.client()
        headers = {"Idempotency-Key": "a-key-of-mine"}
        assert admin.post(f"/jobs/job_{job}/retry", headers=headers).is_success
        nobody = api.client(permissions=frozenset({Permission.JOBS_READ}))
        assert nobody.post(f"/jobs/job_{job}/retry").status_code == 403
        admin.headers["Authorization"] = "Bearer unknown"
        assert admin.post(f"/jobs/job_{job}/retry").status_code == 401
        door = PostgresFrontDoor(api.services.database)
        for _ in range(2):
            door.enqueue({"kind": "mail", "uniqueKey": "k"}, Asking(meta=META))
        change_queues(api.client())
        with api.client().stream("GET", "/stream") as stream:
            lines = stream.iter_lines()  # a dropped iterator would close the stream
            assert next(lines).startswith("retry")
            until(lambda: following(1))
        until(lambda: following(0))
        with api.client().stream("GET", "/stream", params={"after": "0"}) as missed:
            assert "event: reset" in missed.read().decode()


def change_queues(client: httpx.Client) -> None:
    """One is paused, another one limited."""
    pause = {"expiresAt": (datetime.now(UTC) + timedelta(hours=2)).isoformat()}
    assert client.put("/queues/bulk/pause", json=pause).is_success
    seen = {"If-Match": "*"}
    limited = client.patch("/queues/default", json={"concurrency": 5}, headers=seen)
    assert limited.is_success, limited.text


def quickly_too_far(services: Services) -> Services:
    """Let whoever follows miss at most two positions."""
    limits = FeedLimits(positions=2)
    return replace(services, feed=Feed(services.changes, limits))


SEEDS = """
INSERT INTO counterfoil.goods_health (tenant_id, provider) VALUES ('default', 'stars');
UPDATE counterfoil.projections
   SET build = 'rebuild', build_schema = schema, build_began_at = counterfoil.now()
 WHERE name = 'jobs';
INSERT INTO counterfoil.read_drifts_a
SELECT gen_random_uuid(), 'limits', 'default', 'open', '{}', '{}', 1, 1, n, n, NULL,
       'test', n, n
  FROM (SELECT counterfoil.now() AS n) t;
"""


def test_what_is_declared_is_what_is_set(
    database: TestDatabase, meters: Meters, tmp_path: Path
) -> None:
    with Database(database.conninfo, pool_size=4) as pool:
        run_jobs(database)
        lose_a_lease(database)
        race(database, pool)
        exhaust(database)
        sell(Buyer(pool, FileJournal(tmp_path / "journal")))
        tell(Shop.over(database.connect(), pool, tmp_path / "callbacks"))
        fulfil_an_order(database, tmp_path / "panel")
        project(database, pool, meters)
    ask_the_api(database, tmp_path / "var", meters)
    database.connect().execute(SEEDS)

    scrape = meters.scrape()

    declared = set(meters.metrics.families.declared)
    served = {name for name in scrape.families if name.startswith("counterfoil_")}
    assert served == declared
    assert sorted(name for name in served if not scrape.families[name]) == []
    moved = {n for n in served if n.endswith("_total") and any(scrape.families[n])}
    assert sorted(n for n in served if n.endswith("_total") and n not in moved) == []
    assert_true(scrape)
    assert_told(scrape)


def assert_true(scrape: Scrape) -> None:
    """Numbers of which this run knows what they are."""
    for name, result in {
        "well": "ok",
        "never": "permanent",
        "later": "snoozed",
    }.items():
        found = {
            it: n for it, n in scrape.of("job_attempts_total").items() if name in it
        }
        assert all(result in it for it in found), found
        assert found
    assert scrape("leases_lost_total", cause="expired", queue="default") == 1
    assert scrape("fenced_writes_total", write="settle") == 1
    assert scrape("dead_letters_total", kind="never", code="permanent") == 1
    assert scrape("dead_letters", kind="never", code="permanent") == 1
    assert scrape("append_conflicts_total", category="job") == 1
    repeated = scrape.of("db_transaction_retries_total")
    assert repeated == {("batch", "40001"): 1}
    assert scrape("projection_errors_total", projection="audit") >= 1
    assert scrape("delivery_submissions_total", provider="stars", outcome="confirmed")
    assert scrape("deliveries", state="pending") == 1
    assert scrape("drifts", kind="limits") == 1
    assert scrape("idempotency_total", result="new") == 1
    denied = scrape.of("authorization_denied_total")
    assert list(denied.values()) == [1]
    assert scrape("build_info", version="1.2.3", schema_version="0042") == 1


def assert_told(scrape: Scrape) -> None:
    """What people, providers and followers have done meanwhile."""
    assert scrape.of("operations") == {("create", "pending"): 1}
    assert scrape("operation_holds", cause="effective_at") == 1
    assert scrape("queue_paused", queue="bulk") == 1
    assert scrape("queue_paused", queue="default") == 0
    for action in ("queue.paused", "queue.limited"):
        assert scrape("operator_actions_total", action=action, outcome="taken") == 1
    assert scrape("events_appended_total", category="remark") >= 2
    assert scrape.of("queue_concurrency_limit") == {("default",): 5}
    expires = scrape("queue_pause_expires_timestamp_seconds", queue="bulk")
    assert 7_000 < expires - time.time() < 7_300
    assert scrape.of("inbound_webhooks_total") == {
        ("accepted", "stars"): 1,
        ("duplicate", "stars"): 1,
        ("signature_invalid", "stars"): 1,
        ("unknown_provider", "none"): 1,
    }
    assert scrape("order_to_fulfilled_seconds_count", kind="renewal") == 1
    left = scrape("lease_margin_seconds_sum", queue="default")
    assert 30 < left / scrape("lease_margin_seconds_count", queue="default") <= 60
    assert scrape("sse_clients") == 0
    assert scrape("sse_dropped_total") == 1
    assert scrape("db_pool_timeouts_total", pool="exhausted") == 1
    assert scrape("log_messages_total", level="warning") >= 1
