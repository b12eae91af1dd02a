"""The gate of intake: what counts, who is let in, and who is never refused."""

import subprocess
import sys
from functools import partial

import psycopg
import pytest

from application.errors import QuotaExceededError
from infrastructure.client import Client
from tests.fixtures.database import ON_BOTH_SERVERS, TestDatabase
from tests.fixtures.workers import until
from tests.limits.room import (
    ALL_FULL,
    TENANT_FULL,
    Connection,
    enqueue,
    enqueue_many,
    holds_no_room,
    limit,
    pending,
    refused,
)

pytestmark = pytest.mark.database

ROOM_OF = """
SELECT hashtextextended(%s, lock_space) & ~4294967295 FROM counterfoil.installation
"""


@pytest.fixture
def shop(database: TestDatabase) -> Connection:
    """A shop's connection to a house of ten for each tenant."""
    connection = database.connect()
    limit(connection, tenant=10)
    return connection


def fill(connection: Connection, tenant: str = "default", n: int = 10) -> None:
    assert enqueue_many(connection, [{"tenant": tenant}] * n) == n


def test_a_house_of_a_thousand_is_the_default(database: TestDatabase) -> None:
    shop = database.connect()
    fill(shop, n=999)

    assert refused(partial(enqueue_many, shop, [{}, {}])) == TENANT_FULL
    assert refused(partial(enqueue, shop)) is None
    assert refused(partial(enqueue, shop)) == TENANT_FULL
    assert pending(shop) == 1_000


@ON_BOTH_SERVERS
def test_a_refusal_names_whose_limit_the_remedy_and_when_to_come_back(
    shop: Connection,
) -> None:
    fill(shop)

    with pytest.raises(psycopg.Error) as caught:
        enqueue(shop)

    told = caught.value.diag
    assert (told.sqlstate, told.message_hint) == ("CF429", TENANT_FULL)
    assert told.message_primary == (
        "tenant_pending_limit: tenant: default has as many jobs pending as it may, 10"
    )
    assert told.message_detail is not None
    assert told.message_detail.startswith("retry after 5 s")
    assert "COUNTERFOIL_JOB_MAX_TENANT_PENDING" in told.message_detail


def test_the_client_raises_the_code_and_the_seconds(shop: Connection) -> None:
    fill(shop)
    client = Client(shop)

    with pytest.raises(QuotaExceededError) as one:
        client.enqueue("noop")
    with pytest.raises(QuotaExceededError) as many:
        client.enqueue_many([{"kind": "noop", "tenant": "t"}] * 11)

    assert (one.value.code, one.value.retry_after_seconds) == (TENANT_FULL, 5)
    assert many.value.code == TENANT_FULL
    assert "tenant: t " in many.value.detail


def test_replays_are_answered_in_a_full_house(shop: Connection) -> None:
    first = enqueue(shop, uniqueKey="first")
    fill(shop, n=9)

    again = enqueue(shop, uniqueKey="first")

    assert again == first | {"duplicate": True}
    keys = [{"uniqueKey": "first"}, {"uniqueKey": "first"}]
    assert enqueue_many(shop, keys) == 0
    assert refused(partial(enqueue_many, shop, [*keys, {}])) == TENANT_FULL
    assert refused(partial(enqueue, shop, uniqueKey="second")) == TENANT_FULL


def test_a_batch_needs_room_only_for_what_it_bears(shop: Connection) -> None:
    enqueue(shop, uniqueKey="first")
    fill(shop, n=7)

    asked = [
        *([{"uniqueKey": "first"}] * 3),
        *([{"uniqueKey": "second"}] * 3),
        {},
    ]
    assert enqueue_many(shop, asked) == 2
    assert refused(partial(enqueue, shop)) == TENANT_FULL


def test_what_was_no_birth_leaves_its_room_to_the_same_transaction(
    shop: Connection,
) -> None:
    enqueue(shop, uniqueKey="first")

    with shop.transaction():
        for _ in range(30):
            enqueue(shop, uniqueKey="first")
            enqueue_many(shop, [{"uniqueKey": "first"}] * 5)
        fill(shop, n=9)

    assert refused(partial(enqueue, shop)) == TENANT_FULL
    assert pending(shop) == 10


def test_one_tenants_limit_does_not_touch_another(shop: Connection) -> None:
    fill(shop, "full")

    fill(shop, "empty")

    mixed = [{"tenant": "full"}, {"tenant": "third"}]
    assert refused(partial(enqueue_many, shop, mixed)) == TENANT_FULL
    assert pending(shop, "third") == 0


def test_a_hundred_tenants_in_one_batch(shop: Connection) -> None:
    tenants = [f"t{n:03}" for n in range(100)]
    asked = [{"tenant": each} for each in tenants] * 10

    assert enqueue_many(shop, asked) == 1_000

    for each in tenants[::33]:
        assert refused(partial(enqueue, shop, tenant=each)) == TENANT_FULL


def test_scheduled_parked_and_running_jobs_count(shop: Connection) -> None:
    enqueue(shop, runAt="2999-01-01T00:00:00Z")
    fill(shop, n=9)
    shop.execute("UPDATE counterfoil.jobs SET cause = 'parked' WHERE run_at < now()")
    assert refused(partial(enqueue, shop)) == TENANT_FULL

    shop.execute(
        "UPDATE counterfoil.jobs SET state = 'running', cause = NULL, token = 2,"
        "       owner_boot = stream_id WHERE run_at < now()"
    )

    assert refused(partial(enqueue, shop)) == TENANT_FULL


def test_there_is_room_again_when_jobs_have_ended(shop: Connection) -> None:
    fill(shop)
    shop.execute(
        "DELETE FROM counterfoil.jobs WHERE stream_id IN"
        " (SELECT stream_id FROM counterfoil.jobs LIMIT 3)"
    )

    assert refused(partial(enqueue_many, shop, [{}] * 4)) == TENANT_FULL
    assert refused(partial(enqueue_many, shop, [{}] * 3)) is None


def test_zero_is_no_limit(shop: Connection) -> None:
    limit(shop, tenant=0, in_all=0)

    fill(shop, n=3_000)

    assert holds_no_room(shop)


def test_a_limit_that_is_lowered_below_what_is_there_refuses_the_next(
    shop: Connection,
) -> None:
    fill(shop)
    limit(shop, tenant=3)

    assert refused(partial(enqueue, shop)) == TENANT_FULL


def test_in_all_there_may_be_no_more_either_and_the_code_says_which(
    shop: Connection,
) -> None:
    """Nobody has counted lately: it is counted here."""
    limit(shop, tenant=10, in_all=12)
    fill(shop)

    assert refused(partial(enqueue, shop)) == TENANT_FULL
    assert refused(partial(enqueue_many, shop, [{"tenant": "b"}] * 3)) == ALL_FULL
    assert refused(partial(enqueue_many, shop, [{"tenant": "b"}] * 2)) is None
    with pytest.raises(psycopg.Error) as caught:
        enqueue(shop, tenant="b")
    assert caught.value.diag.message_hint == ALL_FULL
    assert "COUNTERFOIL_JOB_MAX_PENDING" in (caught.value.diag.message_detail or "")


def test_replays_are_answered_when_it_is_full_in_all(shop: Connection) -> None:
    limit(shop, tenant=0, in_all=1)
    enqueue(shop, uniqueKey="first")

    assert enqueue(shop, uniqueKey="first")["duplicate"]
    assert enqueue_many(shop, [{"uniqueKey": "first"}]) == 0
    assert refused(partial(enqueue, shop)) == ALL_FULL


@pytest.mark.parametrize("fits", [True, False])
def test_in_all_a_batch_of_several_tenants_needs_room_for_all_its_births(
    shop: Connection, *, fits: bool
) -> None:
    limit(shop, tenant=10, in_all=8 if fits else 7)
    for tenant in ("a", "b", "c"):
        enqueue(shop, tenant=tenant, uniqueKey="first")

    replays = [{"tenant": each, "uniqueKey": "first"} for each in ("b", "c")]
    births = [{"tenant": each} for each in ("a", "a", "b", "b")]
    twice = [{"tenant": "c", "uniqueKey": "second"}] * 2
    batch = partial(enqueue_many, shop, [*births, *replays, *twice])

    assert refused(batch) == (None if fits else ALL_FULL)
    assert sum(pending(shop, each) for each in ("a", "b", "c")) == (8 if fits else 3)


@pytest.mark.parametrize("already", [0, 3, 9])
def test_nobody_waits_for_who_idles_in_his_transaction(
    database: TestDatabase, shop: Connection, already: int
) -> None:
    """The idle one never commits, so whoever waited for him would never return."""
    limit(shop, tenant=100)
    fill(shop, n=already * 10)
    idle = database.connect()
    idle.execute("BEGIN")
    fill(idle, n=4)

    fill(shop, n=96 - already * 10)

    assert refused(partial(enqueue, shop)) == TENANT_FULL
    idle.execute("ROLLBACK")
    fill(shop, n=4)


def test_who_looks_for_room_and_is_frozen_holds_nobody_up_for_long(
    database: TestDatabase, shop: Connection
) -> None:
    frozen = database.connect()
    ((locks,),) = shop.execute(ROOM_OF, ["default"]).fetchall()
    frozen.execute("SELECT pg_advisory_lock(%s)", [locks + 17])

    with pytest.raises(psycopg.Error) as caught:
        enqueue(shop)

    assert caught.value.diag.message_hint == TENANT_FULL
    assert (caught.value.diag.message_detail or "").startswith("retry after 1 s")
    enqueue(shop, tenant="another")
    frozen.close()
    until(lambda: refused(partial(enqueue, shop)) is None)


def test_a_refusal_in_a_savepoint_leaves_the_transaction_as_it_was(
    shop: Connection,
) -> None:
    with shop.transaction():
        fill(shop, n=6)
        assert refused(partial(in_a_savepoint, shop, 5)) == TENANT_FULL
        fill(shop, n=4)
        assert refused(partial(in_a_savepoint, shop, 1)) == TENANT_FULL

    assert pending(shop) == 10


def in_a_savepoint(connection: Connection, n: int) -> None:
    with connection.transaction():
        enqueue_many(connection, [{}] * n)


def test_a_rollback_to_a_savepoint_gives_its_room_back(
    database: TestDatabase, shop: Connection
) -> None:
    other = database.connect()
    with shop.transaction():
        with shop.transaction(force_rollback=True):
            fill(shop)
            assert refused(partial(enqueue, other)) == TENANT_FULL

        fill(other, n=5)
        fill(shop, n=5)

    assert pending(shop) == 10


@ON_BOTH_SERVERS
def test_a_prepared_transaction_keeps_its_room(
    database: TestDatabase, shop: Connection
) -> None:
    """And whoever prepared it may have left."""
    first = database.connect()
    first.execute("BEGIN")
    for _ in range(10):
        enqueue(first, notify=False)
    first.execute("PREPARE TRANSACTION 'ten jobs'")
    first.close()

    assert refused(partial(enqueue, shop)) == TENANT_FULL

    shop.execute("COMMIT PREPARED 'ten jobs'")
    assert pending(shop) == 10
    assert refused(partial(enqueue, shop)) == TENANT_FULL


KILLED = """
import sys, psycopg
from tests.limits.room import enqueue_many
shop = psycopg.connect(sys.argv[1])
enqueue_many(shop, [{}] * 10)
print("open", flush=True)
sys.stdin.read()
"""


def test_a_killed_client_frees_what_he_held(
    database: TestDatabase, shop: Connection
) -> None:
    client = subprocess.Popen(
        [sys.executable, "-c", KILLED, database.conninfo],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with client:
        assert client.stdout is not None
        assert client.stdout.readline() == "open\n"
        assert refused(partial(enqueue, shop)) == TENANT_FULL

        client.kill()

    until(lambda: refused(partial(enqueue_many, shop, [{}] * 10)) is None)
    assert pending(shop) == 10


def test_a_cancelled_look_leaves_nobody_locked_out(
    database: TestDatabase, shop: Connection
) -> None:
    """Whatever statement of the gate is cut short, no session keeps its lock."""
    ((locks,),) = shop.execute(ROOM_OF, ["default"]).fetchall()
    holder, watcher = database.connect(), database.connect()
    holder.execute("BEGIN")
    # Announcing is the last thing that the gate does, with the look still its own.
    holder.execute("SELECT pg_advisory_xact_lock(%s)", [locks + 1001])
    shop.execute("SET statement_timeout = '200ms'")

    with pytest.raises(psycopg.errors.QueryCanceled):
        enqueue(shop)

    holder.execute("ROLLBACK")
    assert holds_no_room(watcher)
    assert refused(partial(enqueue, watcher)) is None


@ON_BOTH_SERVERS
@pytest.mark.parametrize("level", ["REPEATABLE READ", "SERIALIZABLE"])
def test_stricter_isolation_is_let_in_where_it_can_see_enough(
    shop: Connection, level: str
) -> None:
    shop.execute(f"BEGIN ISOLATION LEVEL {level}")
    fill(shop, n=6)
    enqueue(shop)
    shop.execute("COMMIT")

    assert pending(shop) == 7


@ON_BOTH_SERVERS
@pytest.mark.parametrize("level", ["REPEATABLE READ", "SERIALIZABLE"])
def test_what_an_old_snapshot_does_not_show_is_no_room(
    database: TestDatabase, shop: Connection, level: str
) -> None:
    late = database.connect()
    late.execute(f"BEGIN ISOLATION LEVEL {level}")
    assert pending(late) == 0
    fill(shop, n=9)
    assert pending(late) == 0

    with pytest.raises(psycopg.errors.SerializationFailure):
        fill(late, n=2)

    late.execute("ROLLBACK")
    assert refused(partial(enqueue_many, late, [{}] * 2)) == TENANT_FULL
    assert refused(partial(enqueue, late)) is None


LOOP = """
SELECT counterfoil.enqueue(jsonb_build_object('kind', 'noop', 'tenant', 't' || n %% %s))
  FROM generate_series(1, %s) n
"""
LOCKS = """
SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()
"""


@pytest.mark.parametrize(
    ("tenants", "jobs", "most", "locks"),
    [
        (1, 900, 1_000, 170),
        (100, 3_000, 1_000, 500),
        pytest.param(1, 50_000, 60_000, 400, marks=pytest.mark.slow),
        pytest.param(1_000, 50_000, 1_000, 5_000, marks=pytest.mark.slow),
    ],
)
def test_a_long_transaction_holds_few_locks(
    shop: Connection, tenants: int, jobs: int, most: int, locks: int
) -> None:
    limit(shop, tenant=most)

    with shop.transaction():
        shop.execute(LOOP, [tenants, jobs])
        ((held,),) = shop.execute(LOCKS).fetchall()

    assert held <= locks
    assert holds_no_room(shop)


def test_a_role_of_the_shops_own_is_let_in_and_refused(
    database: TestDatabase, shop: Connection
) -> None:
    """With the rights that docs/settle.md names, and no others."""
    role = f"shop_{shop.info.dbname}"
    for right in (
        f'CREATE ROLE "{role}"',
        f'GRANT USAGE ON SCHEMA counterfoil TO "{role}"',
        f'GRANT SELECT ON counterfoil.installation TO "{role}"',
        f'GRANT SELECT, INSERT ON counterfoil.events, counterfoil.jobs TO "{role}"',
        f'GRANT USAGE, SELECT ON SEQUENCE counterfoil.position_seq TO "{role}"',
        f'GRANT SELECT ON counterfoil.test_clock TO "{role}"',
    ):
        shop.execute(right.encode())
    poor = database.connect()
    poor.execute(f'SET ROLE "{role}"'.encode())

    fill(poor)
    assert refused(partial(enqueue, poor)) == TENANT_FULL

    shop.execute(f'DROP OWNED BY "{role}"'.encode())
    shop.execute(f'DROP ROLE "{role}"'.encode())
