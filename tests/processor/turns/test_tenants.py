"""S17: tenants are served in turn, and nobody's order is changed by that."""

from datetime import timedelta
from uuid import UUID

import pytest
from psycopg.types.json import Jsonb

from domain.jobs.outcome import Completed, Retry
from infrastructure.processor.leases import Held
from infrastructure.processor.low_water import HEAD_STARTS
from tests.fixtures.database import TestDatabase
from tests.fixtures.workers import enqueue
from tests.limits.room import limit
from tests.processor.rig import Rig

pytestmark = [pytest.mark.database, pytest.mark.usefixtures("heads_equal_folds")]

OPEN = 32
"""Waiting jobs of a tenant in a queue that are in the open."""


def many(parts: Rig, tenant: str, n: int, **members: object) -> None:
    parts.connection.execute(
        """
        SELECT count(*) FROM counterfoil.enqueue_many(ARRAY(
            SELECT jsonb_build_object('kind', 'turn', 'tenant', %s::text) || %s::jsonb
              FROM generate_series(1, %s)))
        """,
        (tenant, Jsonb(members), n),
    )


def in_line(parts: Rig) -> dict[str, int]:
    rows = parts.connection.execute(
        """
        SELECT tenant_id, count(*) FROM counterfoil.jobs WHERE in_line GROUP BY 1
        """
    )
    return dict(rows.fetchall())


def tenants(held: list[Held]) -> list[str]:
    return [each.job.tenant_id for each in held]


def test_a_tenant_has_so_many_jobs_in_the_open_and_the_others_in_line(
    parts: Rig,
) -> None:
    for _ in range(OPEN + 3):
        enqueue(parts.connection, "turn", tenant="singles")
    many(parts, "few", OPEN)
    many(parts, "batch", OPEN + 1)
    many(parts, "later", 5, runAt="2999-01-01T00:00:00Z")

    assert in_line(parts) == {"singles": 3, "batch": OPEN + 1}


def test_s17_a_tenants_few_jobs_are_claimed_among_the_first_batches(
    parts: Rig,
) -> None:
    many(parts, "hog", 500)
    assert len(parts.claim(4)) == 4
    for _ in range(10):
        enqueue(parts.connection, "turn", tenant="small")

    claimed = [tenant for _ in range(5) for tenant in tenants(parts.claim(4))]

    assert claimed.count("small") == 10
    assert claimed.count("hog") == 10


@pytest.mark.parametrize("n", [1, 2, 5])
def test_s17_two_hogs_and_the_open_take_turns_however_small_a_claim_is(
    n: int, parts: Rig
) -> None:
    many(parts, "hog", 100)
    many(parts, "pig", 100)
    for _ in range(20):
        enqueue(parts.connection, "turn", tenant="small")

    claimed = [tenant for _ in range(40 // n) for tenant in tenants(parts.claim(n))]

    assert claimed.count("small") == 20
    assert abs(claimed.count("hog") - claimed.count("pig")) <= 2


def test_s17_a_hog_is_not_starved_by_a_steady_stream_of_others(parts: Rig) -> None:
    many(parts, "hog", 100)
    for n in range(10):
        enqueue(parts.connection, "turn", tenant=f"small {n}".replace(" ", "-"))

    claimed = []
    for n in range(40):
        (held,) = parts.claim(1)
        claimed.append(held.job.tenant_id)
        parts.settle(held, Completed())
        enqueue(parts.connection, "turn", tenant=f"new-{n}")

    assert claimed.count("hog") == 20


def order_of(parts: Rig) -> list[UUID]:
    """Return the jobs as a tenant alone has them claimed: by head start."""
    rows = parts.connection.execute(
        """
        SELECT stream_id
          FROM counterfoil.jobs
         ORDER BY run_at - (%s::interval[])[priority], run_at
        """,
        (list(HEAD_STARTS),),
    )
    return [row[0] for row in rows]


@pytest.mark.parametrize("company", [False, True], ids=["alone", "beside another"])
def test_s17_a_tenants_own_priorities_and_order_stay_as_they_are(
    company: bool,  # noqa: FBT001 - a case
    database: TestDatabase,
    parts: Rig,
) -> None:
    """Those in the open, those in line, and those of a later time."""
    connection = parts.connection
    soon = "counterfoil.instant_text(counterfoil.now() + interval '5 minutes')"
    later = connection.execute(f"SELECT {soon}").fetchall()[0][0]
    for n in range(60):
        enqueue(
            connection,
            "turn",
            tenant="hog",
            priority=1 + n % 4,
            runAt=later if n % 9 == 8 else None,
        )
        database.advance(timedelta(seconds=7))
    database.advance(timedelta(minutes=10))
    expected = order_of(parts)
    if company:
        many(parts, "pig", 100)

    claimed: list[UUID] = []
    while len(claimed) < len(expected):
        (held,) = parts.claim(1)
        if held.job.tenant_id == "hog":
            claimed.append(held.job.id)

    assert claimed == expected


def test_s17_what_failed_in_line_comes_back_when_it_is_due(
    database: TestDatabase, parts: Rig
) -> None:
    many(parts, "hog", 40)
    (held,) = parts.claim(1)
    parts.settle(held, Retry(code="down"))
    assert held.job.id not in {each.job.id for each in parts.claim(40)}

    database.advance(timedelta(minutes=5))

    assert [each.job.id for each in parts.claim(40)] == [held.job.id]


def test_s17_the_lowest_priority_starts_within_ten_minutes_of_a_flood(
    database: TestDatabase, parts: Rig
) -> None:
    """By the database's clock: the head start of priority 1 is all it waits."""
    step = timedelta(seconds=20)
    low = enqueue(parts.connection, "turn", priority=4)
    waited = timedelta()
    held: list[Held] = []
    while low not in {each.job.id for each in held}:
        for each in held:
            parts.settle(each, Completed())
        assert waited <= HEAD_STARTS[0] + step
        many(parts, "default", 12, priority=1)
        database.advance(step)
        waited += step
        held = parts.claim(12)  # as many as come; one is left each time

    assert waited >= HEAD_STARTS[0] - step


@pytest.mark.campaign
def test_s17_ten_jobs_beside_fifty_thousand(parts: Rig) -> None:
    limit(parts.connection)
    for _ in range(5):
        many(parts, "hog", 10_000)
    parts.connection.execute("ANALYZE counterfoil.jobs")
    for _ in range(5):
        assert tenants(parts.claim(100)) == ["hog"] * 100
    for _ in range(10):
        enqueue(parts.connection, "turn", tenant="small")

    claimed = [tenant for _ in range(2) for tenant in tenants(parts.claim(16))]

    assert claimed.count("small") == 10


def test_a_line_of_one_key_runs_one_by_one_in_its_order(parts: Rig) -> None:
    many(parts, "hog", 40, serialKey="k")

    order: list[UUID] = []
    for _ in range(40):
        (held,) = parts.claim(10)
        order.append(held.job.id)
        parts.settle(held, Completed())

    assert order == sorted(order)  # ids rise
