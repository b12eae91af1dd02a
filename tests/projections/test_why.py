"""The story of any id: the same one from every end, whole and in order."""

from collections.abc import Iterator
from uuid import UUID

import msgspec
import pytest

from api.cli.outlook import outlook
from application.errors import StateConflictError, WindowOpenError
from application.operators.instruction import instruct
from application.operators.maintenance import Maintenance, Planned
from domain.fulfillment.commands import Cover
from domain.jobs.outcome import Completed
from infrastructure.client import Client
from infrastructure.ids import new_id
from infrastructure.postgres.database import Database
from infrastructure.postgres.windows import PostgresWindows
from projections.why import Story, Why
from tests.application.memory import MemoryContext
from tests.fixtures.database import TestDatabase
from tests.operators.world import GENERIC, SERVED, World, bring

pytestmark = [pytest.mark.database, pytest.mark.usefixtures("heads_equal_folds")]


@pytest.fixture
def why(database: TestDatabase) -> Iterator[Why]:
    with Database(database.conninfo, pool_size=1) as pool:
        yield Why(pool.connection)


def told(why: Why, key: object, limit: int = 200) -> Story:
    story = why(str(key), tenant_id="default", limit=limit)
    assert story is not None
    return story


def order_of(world: World, operation: UUID) -> UUID:
    ((order,),) = world.connection.execute(
        "SELECT order_stream_id FROM counterfoil.operations WHERE stream_id = %s",
        (operation,),
    ).fetchall()
    return UUID(str(order))


def entitlement_of(world: World, operation: UUID) -> tuple[UUID, str]:
    ((entitlement, username),) = world.connection.execute(
        """
        SELECT e.stream_id, e.username
          FROM counterfoil.operations o
          JOIN counterfoil.entitlements e ON e.stream_id = o.entitlement_id
         WHERE o.stream_id = %s
        """,
        (operation,),
    ).fetchall()
    return UUID(str(entitlement)), str(username)


@pytest.mark.parametrize(
    "state", ["due", "parked", "held", "running", "succeeded", "discarded", "cancelled"]
)
def test_every_id_of_an_order_leads_to_the_same_events(
    world: World, why: Why, state: str
) -> None:
    job, operation = bring(world, state, SERVED)
    assert operation is not None
    entitlement, username = entitlement_of(world, operation)
    bring(world, "succeeded", GENERIC)

    order = told(why, "shop:1")
    others = {
        "order": order_of(world, operation),
        "operation": operation,
        "job": job,
        "entitlement": entitlement,
        "customer": "ann",
        "panel user": username,
    }

    stories = {kind: told(why, key) for kind, key in others.items()}
    assert {story.kind: story.events for story in stories.values()} == dict.fromkeys(
        others, order.events
    )
    request = told(why, f"{operation}.1.2")
    assert (request.kind, request.events) == ("operation", order.events)


def test_everything_is_there_and_in_the_order_of_the_log(
    world: World, why: Why
) -> None:
    bring(world, "succeeded", SERVED)

    story = told(why, "shop:1")

    assert [event.type for event in story.events] == [
        "order.paid",
        "job.enqueued",
        "job.claimed",
        "entitlement.granted",
        "entitlement.desired_changed",
        "fulfillment.requested",
        "job.enqueued",
        "job.succeeded",
        "job.claimed",
        "fulfillment.attempt_started",
        "fulfillment.succeeded",
        "job.succeeded",
    ]
    assert story.jobs == ()
    assert story.operations[0].state == "succeeded"


def test_a_refund_belongs_to_the_story_of_its_order(world: World, why: Why) -> None:
    bring(world, "succeeded", SERVED)
    asked = Client(world.connection).refund_order(
        {"orderId": "shop:1", "reason": "charged back"}
    )
    claimed = world.claim("order_refund")
    kind = world.kinds["order_refund"]
    args = msgspec.json.decode(claimed.args, type=kind.args)
    context = MemoryContext(job_id=claimed.id, token=claimed.token)
    world.end(claimed, kind.handler(args, context))

    story = told(why, "shop:1")

    assert [event.type for event in story.events[-7:]] == [
        "job.enqueued",
        "job.claimed",
        "order.refunded",
        "entitlement.disabled",
        "fulfillment.requested",
        "job.enqueued",
        "job.succeeded",
    ]
    assert story.orders[0].state == "refunded"
    assert told(why, asked.job_id).events == story.events


def test_an_order_of_many_tells_only_its_own_part_of_the_entitlement(
    world: World, why: Why
) -> None:
    first, _ = world.operation("ann")
    world.operation("ann")

    def changes(key: str) -> int:
        tags = [event.type for event in told(why, key).events]
        return tags.count("entitlement.desired_changed")

    assert changes("shop:1") == changes("shop:2") == 1
    assert changes("ann") == 2
    assert changes(str(entitlement_of(world, first)[0])) == 2


def test_a_covered_operation_tells_by_which_one_and_what_that_one_waits_for(
    world: World, why: Why
) -> None:
    covered, _ = world.operation("ann")
    covering, job = world.operation("ann")
    claimed = world.claim(SERVED)
    world.command(covered, Cover(covered_by=covering))
    world.end(claimed, Completed())

    story = told(why, "shop:1")

    states = {each.stream_id: each for each in story.operations}
    assert states[covered].covered_by == covering
    assert states[covering].state == "pending"
    assert [line.job_id for line in story.jobs] == [job]
    assert len(told(why, covered).operations) == 2


def test_what_an_operator_was_refused_is_part_of_the_story(
    world: World, why: Why
) -> None:
    """I9."""
    job, operation = bring(world, "succeeded", SERVED)
    with pytest.raises(StateConflictError):
        world.retry(job, "I did not look")
    with pytest.raises(StateConflictError):
        world.cancel(str(operation))

    last = told(why, "shop:1").events[-2:]

    assert [event.type for event in last] == ["operator.action_refused"] * 2
    assert last[0].meta.reason == "I did not look"


def test_a_dead_letter_and_a_running_job_are_in_the_heads(
    world: World, why: Why
) -> None:
    dead, _ = bring(world, "discarded", GENERIC)
    running, _ = bring(world, "running", GENERIC)

    (line,) = told(why, dead).jobs
    (other,) = told(why, running).jobs

    assert (line.state, line.code) == ("discarded", "permanent")
    assert (other.state, other.owner_pid) == ("running", world.owner.pid)


def test_the_latest_events_are_shown_when_there_are_too_many(
    world: World, why: Why
) -> None:
    bring(world, "succeeded", SERVED)
    whole = told(why, "shop:1")

    last = told(why, "shop:1", limit=3)

    assert last.events == whole.events[-3:]
    assert last.has_earlier
    assert not whole.has_earlier


def test_an_order_that_is_not_decided_yet_is_found_by_order_and_customer(
    world: World, why: Why
) -> None:
    world.connection.execute(
        """
        SELECT counterfoil.settle_order(
            '{"orderId": "new", "customerId": "eve", "kind": "topup",
              "currency": "USD", "amountMinor": 5}')
        """
    )

    assert told(why, "new").kind == "order"
    assert told(why, "eve").kind == "customer"
    assert [event.type for event in told(why, "eve").events] == ["wallet.credited"]


@pytest.mark.parametrize("key", ["nothing", "01a229d7-fb57-790b-948f-7284b737919a", ""])
def test_nobody_has_an_unknown_id(why: Why, key: str) -> None:
    assert why(key, tenant_id="default", limit=10) is None


def test_another_tenants_order_is_not_found_by_the_shops_id(
    world: World, why: Why
) -> None:
    world.operation()

    assert why("shop:1", tenant_id="other", limit=10) is None


def test_the_id_of_a_window_tells_who_opened_it_and_who_was_refused(
    world: World, why: Why
) -> None:
    maintenance = Maintenance(PostgresWindows(world.database), world.units, new_id)
    planned = Planned(notice_ru="Идут работы", notice_en="We are at work")
    opened = maintenance.open(planned, instruct("ann", "the panel moves"))
    with pytest.raises(WindowOpenError):
        maintenance.open(planned, instruct("bob", "another"))

    story = told(why, opened.window_id)

    assert story.kind == "maintenance"
    assert [each.type for each in story.events] == [
        "maintenance.opened",
        "operator.action_refused",
    ]
    (window,) = story.windows
    assert (window.scope, window.state, window.opened_by) == ("panel", "open", "ann")
    (coming,) = outlook(story, {})
    assert coming.endswith("until `counterfoil maintenance close --scope panel`")

    maintenance.close("panel", instruct("ann", "it is back"))
    assert outlook(told(why, opened.window_id), {}) == ["nothing: everything is done"]
