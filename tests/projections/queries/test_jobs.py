"""The list of all jobs: every filter that operators have, over what really happened."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from uuid import UUID

import msgspec
import pytest

from domain.errors import InvalidRequestError
from domain.jobs.outcome import Completed, Fail, Retry
from infrastructure.client import Client
from infrastructure.postgres.database import Database
from projections.queries.jobs import JobRecords
from projections.queries.terms import Among, Asked, Between, Term
from tests.fixtures.database import TestDatabase
from tests.fixtures.read_models import project
from tests.performance.lists.plans import Plans
from tests.performance.shop import order
from tests.processor.rig import NOOP, Rig

pytestmark = pytest.mark.database

SECRET = "cc-4000-1234"  # noqa: S105 - stands for what somebody may put into arguments


class Past:
    """A few jobs, to each of which something else has happened, and their list."""

    def __init__(self, database: TestDatabase, pool: Database) -> None:
        parts = Rig(database, pool, NOOP)
        client = Client(parts.connection)
        self.host = parts.owner.host
        self.boot = parts.owner.boot
        self.pool = pool
        self.succeeded = client.enqueue("noop", {"n": 1, "bank": SECRET}).job_id
        parts.settle(parts.claim(1)[0], Completed())
        self.dead = client.enqueue("noop", {"n": 1}, queue="bulk").job_id
        parts.settle(parts.claim(1, "bulk")[0], Fail(code="no_such_user"))
        self.again = client.enqueue(
            "noop", {"n": 1}, tenant="other", correlation_id="a-story"
        ).job_id
        parts.settle(parts.claim(1)[0], Retry(code="panel_5xx"))
        database.advance(timedelta(hours=1))
        self.fanout = client.settle_order(order(1)).job_id
        asked = {"orderId": "o1", "reason": "it never worked"}
        self.refund = client.refund_order(asked).job_id
        in_two_days = pool_now(pool) + timedelta(days=2)
        self.later = client.enqueue("noop", {"n": 1}, run_at=in_two_days).job_id
        project(pool)

    def __call__(self, *terms: Term) -> set[UUID]:
        """The ids of what is listed."""
        page = JobRecords(self.pool.connection)(Asked(terms=terms))
        return {it.stream_id for it in page.items}


def pool_now(pool: Database) -> datetime:
    with pool.connection() as connection:
        row = connection.execute("SELECT counterfoil.now()").fetchone()
    assert row is not None
    assert isinstance(row[0], datetime)
    return row[0]


@pytest.fixture
def past(database: TestDatabase) -> Iterator[Past]:
    with Database(database.conninfo, pool_size=1) as pool:
        yield Past(database, pool)


def test_each_filter_finds_its_jobs(past: Past) -> None:
    hour, day = timedelta(minutes=30), timedelta(days=1)
    now = pool_now(past.pool)

    assert past(Among("state", ("succeeded",))) == {past.succeeded}
    assert past(Among("state", ("succeeded", "discarded"))) == {
        past.succeeded,
        past.dead,
    }
    assert past(Among("queue", ("bulk",))) == {past.dead}
    assert past(Among("kind", ("order_fanout",))) == {past.fanout}
    assert past(Among("id", (past.dead, past.later))) == {past.dead, past.later}
    assert past(Among("tenant", ("other",))) == {past.again}
    assert past(Among("correlation", ("a-story",))) == {past.again}
    assert past(Among("error_code", ("panel_5xx",))) == {past.again}
    assert past(Between("attempt", least=1)) == {past.succeeded, past.dead, past.again}
    assert past(Between("age", below=hour)) == {
        past.succeeded,
        past.dead,
        past.again,
    }
    assert past(Between("created_at", least=now - hour)) == {
        past.fanout,
        past.refund,
        past.later,
    }
    assert past(Between("scheduled_at", least=now + day)) == {past.later}
    assert past(Among("worker", (past.host,)), Among("state", ("discarded",))) == {
        past.dead
    }
    assert past(Among("boot", (past.boot,)), Between("age", below=hour)) == {
        past.succeeded,
        past.dead,
        past.again,
    }


def test_the_jobs_of_an_order_are_found_by_the_id_that_the_shop_gave_it(
    past: Past,
) -> None:
    both = {past.fanout, past.refund}
    assert past(Among("order", ("o1",))) == both
    assert past(Among("order", ("o1", "o2"))) == both
    assert past(Among("order", ("o2",))) == set()
    assert past(Among("order", ("o1",)), Among("tenant", ("other",))) == set()


@pytest.mark.usefixtures("past")
def test_the_refund_of_an_order_is_found_by_its_index(database: TestDatabase) -> None:
    plans = Plans(database.connect())

    with plans.of("read_jobs_a") as work:
        JobRecords(plans.lend)(Asked(terms=(Among("order", ("o1",)),)))

    assert "read_jobs_a_order" in work.indexes
    assert None not in work.indexes


def test_what_no_text_can_be_is_refused_by_name(past: Past) -> None:
    for text in ("a\0", "\ud800"):
        with pytest.raises(InvalidRequestError, match="order: is of type text"):
            past(Among("order", (text,)))
    with pytest.raises(InvalidRequestError, match="not a field; there are: age, "):
        past(Among("args", ("n",)))


def test_arguments_are_never_told(past: Past) -> None:
    page = JobRecords(past.pool.connection)(Asked())

    told = msgspec.json.encode(page.items).decode()
    assert str(past.succeeded) in told
    assert SECRET not in told
    assert "bank" not in told
