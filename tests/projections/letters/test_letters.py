"""Every way in which a dead letter appears, and every way in which it goes."""

import time
from collections.abc import Callable
from functools import partial
from typing import Any
from uuid import UUID

import msgspec
import psycopg
import pytest

from application.errors import TwinError
from domain.fulfillment.commands import Cover, Succeed
from domain.fulfillment.events import Succeeded
from domain.jobs.outcome import Completed, Fail, Retry
from domain.jobs.verdict import LeaseLost, Unfit
from infrastructure.client import Client
from infrastructure.processor.claim import Claimer, Lane
from infrastructure.processor.claimed import ClaimedJob
from tests.fixtures.workers import enqueue
from tests.operators.world import GENERIC, QUEUES, SERVED, World, bring, world
from tests.projections.letters.conftest import Office

__all__ = ["world"]

pytestmark = pytest.mark.database


GONE = LeaseLost(cause="process_gone", died=True, was_only=True)
GONE_IN_A_CALL = msgspec.structs.replace(GONE, call_began=True)


def suspect(world: World, kind: str) -> ClaimedJob:
    """Return the next job of the kind that runs alone, claimed."""
    claimer = Claimer(world.owner, dict.fromkeys(world.kinds, 60))
    lane = Lane(QUEUES[kind], (kind,))
    (job,) = claimer.suspect(world.connection, lane, time.monotonic())
    return job


def crash(world: World, kind: str, operation: UUID | None = None) -> None:
    """Let three processes die of the next job, the last two while it was alone."""
    for claim in (world.claim, partial(suspect, world), partial(suspect, world)):
        claimed = claim(kind)
        if operation is not None:
            world.start(operation)
        world.end(claimed, GONE if operation is None else GONE_IN_A_CALL)


def die_late(world: World, claimed: ClaimedJob) -> None:
    world.end(claimed, Unfit(code="deadline_exceeded", error="due by noon"))


DEATHS: dict[str, tuple[Callable[[World, ClaimedJob], None], str | None]] = {
    "permanent": (lambda w, c: w.end(c, Fail(code="http_422")), "http_422"),
    "budget_spent": (lambda w, c: w.end(c, Retry(code="http_502")), "http_502"),
    "deadline_exceeded": (die_late, None),
    "undecodable": (lambda w, c: w.end(c, Unfit(code="undecodable")), None),
    "unstorable_result": (
        lambda w, c: w.end(c, Fail(code="unstorable_result", error="NaN")),
        None,
    ),
}


def test_dead_jobs_are_letters_that_say_why(world: World, office: Office) -> None:
    jobs = {}
    for code, (end, _) in DEATHS.items():
        jobs[code] = world.report(maxAttempts=1, correlationId="mine")
        end(world, world.claim(GENERIC))

    office.catch_up()

    letters = {letter.code: letter for letter in office.listed()}
    assert {code: letter.stream_id for code, letter in letters.items()} == jobs
    for code, letter in letters.items():
        assert letter.job_id == letter.stream_id
        assert (letter.stream_kind, letter.kind) == ("job", GENERIC)
        assert (letter.queue, letter.correlation_id) == ("default", "mine")
        assert letter.error_code == DEATHS[code][1]
        assert letter.twin is None
    for cause in office.causes():
        letter = letters[cause.code]
        assert (cause.sample, cause.count.value) == (letter.stream_id, 1)
        assert cause.error_code == letter.error_code
        assert cause.oldest == cause.newest == letter.died_at
    assert len(office.causes()) == len(DEATHS)


def test_a_dead_fulfilment_job_and_its_failed_operation_are_one_letter(
    world: World, office: Office
) -> None:
    """The operation's, whose code is what its job met; if that is known."""
    pairs = []
    for code in DEATHS:
        pairs.append((code, *world.operation(customer=code)))
        if code != "budget_spent":  # twelve attempts: not here
            DEATHS[code][0](world, world.claim(SERVED))
        else:
            world.end(world.claim(SERVED), Fail(code=code))

    office.catch_up()

    letters = {letter.stream_id: letter for letter in office.listed()}
    assert len(letters) == len(pairs)
    for n, (code, operation, job) in enumerate(pairs, 1):
        letter = letters[operation]
        assert (letter.stream_kind, letter.job_id) == ("operation", job)
        assert (letter.kind, letter.operation) == (SERVED, "create")
        assert (letter.queue, letter.job_code) == ("critical", code)
        assert letter.code == (DEATHS[code][1] if code == "permanent" else code)
        assert (letter.order_id, letter.customer_id) == (f"shop:{n}", code)


def test_what_its_processes_died_of_is_a_letter(world: World, office: Office) -> None:
    job = world.report()
    crash(world, GENERIC)

    office.catch_up()

    (letter,) = office.listed(codes=("worker_crashed",))
    assert (letter.stream_id, letter.error_code) == (job, "process_gone")


def test_an_operation_whose_processes_died_is_one_letter(
    world: World, office: Office
) -> None:
    operation, job = world.operation()
    crash(world, SERVED, operation)

    office.catch_up()

    (letter,) = office.listed()
    assert (letter.stream_id, letter.job_id) == (operation, job)
    assert (letter.code, letter.job_code) == ("process_gone", "worker_crashed")
    assert letter.attempt == 3


def test_what_runs_by_itself_or_is_over_is_no_letter(
    world: World, office: Office
) -> None:
    for kind in (GENERIC, SERVED):
        for state in ("after_failure", "parked", "succeeded", "cancelled", "running"):
            bring(world, state, kind)
        bring(world, "due", kind)

    office.catch_up()

    assert office.listed() == ()
    assert office.causes() == ()


@pytest.mark.parametrize("kind", [GENERIC, SERVED])
def test_a_retry_ends_a_letter_and_it_never_comes_back_by_itself(
    world: World, office: Office, kind: str
) -> None:
    job, operation = bring(world, "discarded", kind)
    office.catch_up()
    assert len(office.listed()) == 1

    world.retry(job)
    office.catch_up()

    assert office.listed() == ()
    (ended,) = office.ended()
    assert ended.stream_id == (operation or job)
    assert (ended.ended_how, ended.ended_by_type, ended.ended_by) == (
        "retried",
        "operator",
        "ann",
    )
    claimed = world.claim(kind)
    if operation is not None:
        world.start(operation)
    world.end(claimed, Completed() if operation is None else world.success(operation))
    office.catch_up()
    assert office.listed() == ()
    assert len(office.ended()) == 1


def test_who_dies_again_is_a_letter_again_and_nobody_has_ended_that(
    world: World, office: Office
) -> None:
    job, _ = bring(world, "discarded", GENERIC)
    office.catch_up()
    (first,) = office.listed()
    world.retry(job)
    world.end(world.claim(GENERIC), Fail(code="http_422"))

    office.catch_up()

    (again,) = office.listed()
    assert again.stream_id == first.stream_id
    assert again.died_at > first.died_at
    assert (first.error_code, again.error_code) == ("permanent", "http_422")
    assert office.ended() == ()


def test_a_cancel_of_a_failed_operation_ends_its_letter(
    world: World, office: Office
) -> None:
    job, operation = bring(world, "discarded", SERVED)
    world.cancel(job)

    office.catch_up()

    assert office.listed() == ()
    (ended,) = office.ended()
    assert (ended.stream_id, ended.ended_how) == (operation, "cancelled")
    assert (ended.ended_by, ended.job_id) == ("bob", job)


def test_a_cancelled_job_stands_beside_failed_ones_in_no_list(
    world: World, office: Office
) -> None:
    bring(world, "cancelled", SERVED)
    bring(world, "cancelled", GENERIC)
    dead, _ = bring(world, "discarded", GENERIC)

    office.catch_up()

    assert [letter.stream_id for letter in office.listed()] == [dead]


def test_a_cancelled_job_that_was_revived_may_die_after_all(
    world: World, office: Office
) -> None:
    job, _ = bring(world, "cancelled", GENERIC)
    world.retry(job)
    world.end(world.claim(GENERIC), Fail(code="http_422"))

    office.catch_up()

    assert [letter.stream_id for letter in office.listed()] == [job]


def test_a_retry_that_a_twin_forbids_leaves_the_letter_and_names_the_twin(
    world: World, office: Office
) -> None:
    job = world.report(uniqueKey="once")
    world.end(world.claim(GENERIC), Fail(code="http_422"))
    twin = world.report(uniqueKey="once")
    with pytest.raises(TwinError):
        world.retry(job)

    office.catch_up()

    (letter,) = office.listed()
    assert (letter.stream_id, letter.twin) == (job, twin)


def test_a_retry_after_which_a_later_operation_covers_ends_it_for_good(
    world: World, office: Office
) -> None:
    job, operation = bring(world, "discarded", SERVED)
    assert operation is not None
    later, _ = world.operation()
    world.retry(job)
    world.command(operation, Cover(later))

    office.catch_up()

    assert office.listed() == ()
    (ended,) = office.ended()
    assert (ended.stream_id, ended.ended_how) == (operation, "retried")


def test_an_operation_that_was_confirmed_under_a_lost_claim_is_no_letter(
    world: World, office: Office
) -> None:
    """Its job dies afterwards, and nobody has to do anything about it."""
    operation, _ = world.operation()
    claimed = world.claim(SERVED)
    world.start(operation)
    (confirmed,) = world.success(operation).changes
    world.end(claimed, GONE_IN_A_CALL)
    claimed = suspect(world, SERVED)
    world.start(operation)
    (event,) = confirmed.events
    assert isinstance(event, Succeeded)
    world.command(operation, Succeed(event.observed))
    world.end(claimed, Fail(code="broken"))

    office.catch_up()

    assert world.tags(claimed.id)[-1] == "job.discarded"
    assert office.listed() == ()


def test_a_stranger_who_asks_for_a_product_job_has_a_letter_of_its_own(
    world: World, office: Office
) -> None:
    """It names an operation that nobody knows: its death would be told nowhere."""
    unknown = UUID(int=7)
    job = enqueue(
        world.connection,
        SERVED,
        queue="critical",
        args={"operation_id": str(unknown)},
        uniqueKey=f"fulfillment:{unknown}",
    )
    world.end(world.claim(SERVED), Fail(code="no_such_operation"))

    office.catch_up()

    (letter,) = office.listed()
    assert (letter.stream_id, letter.stream_kind) == (job, "job")


def test_a_dead_fan_out_names_its_order_and_the_order_finds_it(
    world: World, office: Office
) -> None:
    stream = settle(world.connection, "shop:77", "default")
    settle(world.connection, "shop:77", "other")
    world.end(world.claim("order_fanout"), Fail(code="broken"))
    world.end(world.claim("order_fanout"), Fail(code="broken"))

    office.catch_up()

    assert len(office.listed()) == 2
    (letter,) = office.listed(order="shop:77")
    assert (letter.order_stream_id, letter.order_id) == (stream, "shop:77")
    assert letter.tenant_id == "default"
    (other,) = office.listed(order="shop:77", tenant_id="other")
    assert other.tenant_id == "other"


def test_a_dead_refund_is_found_by_its_order_whatever_its_correlation(
    world: World, office: Office
) -> None:
    stream = settle(world.connection, "shop:77", "default", correlationId="cart-9")
    Client(world.connection).refund_order(
        {"orderId": "shop:77", "reason": "changed her mind"}
    )
    world.end(world.claim("order_refund"), Fail(code="broken"))

    office.catch_up()

    (letter,) = office.listed(order="shop:77")
    assert (letter.kind, letter.correlation_id) == ("order_refund", "order:shop:77")
    for key in ("shop:77", stream):
        correlations = {it.correlation_id for it in office.history(key).items}
        assert correlations == {"cart-9", "order:shop:77"}
        positions = [it.position for it in office.history(key).items]
        assert positions == sorted(positions)


def settle(
    connection: psycopg.Connection[Any], order: str, tenant: str, **more: str
) -> UUID:
    return (
        Client(connection)
        .settle_order(
            {
                "orderId": order,
                "tenant": tenant,
                **more,
                "customerId": "ann",
                "kind": "purchase",
                "currency": "USD",
                "amountMinor": 100,
                "lines": [{"line": 1, "type": "access", "days": 30}],
            }
        )
        .stream_id
    )
