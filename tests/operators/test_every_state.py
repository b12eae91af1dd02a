"""Retry and cancel in every state, by either id: what happens, what is on record."""

from uuid import UUID

import pytest

from application.errors import ApplicationError, NotFoundError, StateConflictError
from application.operators.action import Done
from tests.operators.world import GENERIC, SERVED, World, bring

pytestmark = [
    pytest.mark.database,
    pytest.mark.usefixtures("heads_equal_folds", "messages_equal_events"),
]

REFUSED = "state_conflict"
TAKEN = "operator.action_taken"
NOBODY = "01a229d7-fb57-790b-948f-7284b737919a"
REJECTED = "job_mutation_rejected"
"""By the job's id; whoever names its operation is told of a conflict."""
BACKING_OFF = ("after_failure", "parked")
MOVED = ("job.rescheduled",)
BOTH_MOVED = ("job.rescheduled", "fulfillment.retried")
WAITING = ("due", "after_failure", "parked", "held")
JOB_CANCELLED = ("job.cancelled",)
BOTH_CANCELLED = ("job.cancelled", "fulfillment.cancelled")
ASKED = ("job.cancel_requested",)

# (kind, action, state) → tags of what happens, or a refusal.
EXPECTED: dict[tuple[str, str, str], tuple[str, ...] | str] = {
    (GENERIC, "retry", "due"): REJECTED,
    **{(GENERIC, "retry", state): MOVED for state in ("not_due", *BACKING_OFF)},
    (GENERIC, "retry", "held"): REJECTED,
    (GENERIC, "retry", "running"): REJECTED,
    (GENERIC, "retry", "cancel_requested"): REJECTED,
    (GENERIC, "retry", "succeeded"): REFUSED,
    (GENERIC, "retry", "discarded"): ("job.retried",),
    (GENERIC, "retry", "cancelled"): ("job.retried",),
    **{(GENERIC, "cancel", state): JOB_CANCELLED for state in (*WAITING, "not_due")},
    (GENERIC, "cancel", "running"): ASKED,
    (GENERIC, "cancel", "cancel_requested"): (),
    (GENERIC, "cancel", "succeeded"): REFUSED,
    (GENERIC, "cancel", "discarded"): REJECTED,
    (GENERIC, "cancel", "cancelled"): (),
    (SERVED, "retry", "due"): REJECTED,
    **{(SERVED, "retry", state): BOTH_MOVED for state in BACKING_OFF},
    (SERVED, "retry", "held"): REJECTED,
    (SERVED, "retry", "running"): REJECTED,
    (SERVED, "retry", "cancel_requested"): REJECTED,
    (SERVED, "retry", "succeeded"): REFUSED,
    (SERVED, "retry", "discarded"): ("job.retried", "fulfillment.retried"),
    (SERVED, "retry", "cancelled"): REFUSED,
    **{(SERVED, "cancel", state): BOTH_CANCELLED for state in WAITING},
    (SERVED, "cancel", "running"): ASKED,
    (SERVED, "cancel", "cancel_requested"): (),
    (SERVED, "cancel", "succeeded"): REFUSED,
    (SERVED, "cancel", "discarded"): ("fulfillment.cancelled",),
    (SERVED, "cancel", "cancelled"): (),
}
CASES = [
    (*case, route)
    for case in EXPECTED
    for route in (("job", "operation") if case[0] == SERVED else ("job",))
]


@pytest.mark.parametrize(("kind", "action", "state", "route"), CASES)
def test_each_state_answers_as_the_rules_say(
    world: World, kind: str, action: str, state: str, route: str
) -> None:
    """S20, S30, I6, I9: by the job's id and by the operation's, the same."""
    job, operation = bring(world, state, kind)
    key = job if route == "job" or operation is None else operation
    streams = [job] if operation is None else [job, operation]
    before = world.tags(*streams)

    answer = act(world, action, key)

    after = world.tags(*streams)[len(before) :]
    expected = EXPECTED[kind, action, state]
    if isinstance(expected, str):
        if expected == REJECTED and route == "operation":
            expected = REFUSED
        assert answer == expected
        assert after == []
        assert world.refusals() == [refusal(action, key, expected)]
    else:
        assert isinstance(answer, Done)
        assert answer.events == expected
        assert sorted(after) == sorted(expected)
        assert world.refusals() == []
        # One record, in the transaction of it all, also when it was so already.
        *_, record = world.taken()
        about = str(operation or job)
        assert (record[3], record[8], record[9]) == (about, 1, answer.position)
        assert (record[4] == record[5]) == (expected == ())
        assert commits(world, answer.position) == sorted([*expected, TAKEN])


def commits(world: World, position: int) -> list[str]:
    """Return the tags of the transaction that wrote the event at the position."""
    rows = world.connection.execute(
        """
        SELECT e.type
          FROM counterfoil.events r
          JOIN counterfoil.events e ON e.meta->>'commit_id' = r.meta->>'commit_id'
         WHERE r.position = %s
        """,
        (position,),
    )
    return sorted(tag for (tag,) in rows)


def act(world: World, action: str, key: UUID) -> Done | str:
    """Return what was done, or the code of the refusal."""
    try:
        return world.retry(key) if action == "retry" else world.cancel(key)
    except ApplicationError as error:
        return error.code


def refusal(action: str, key: UUID | str, code: str) -> tuple[object, ...]:
    who, why = {
        "retry": ("ann", "it is repaired"),
        "cancel": ("bob", "not wanted"),
    }[action]
    return (action, str(key), code, "operator", who, why, 1)


def test_what_an_operator_does_names_actor_reason_and_correlation(world: World) -> None:
    """I9."""
    job, operation = bring(world, "discarded", SERVED)
    assert operation is not None

    world.retry(operation, "the panel is back")

    rows = world.connection.execute(
        """
        SELECT stream_id, meta->'actor', meta->>'reason', meta->>'correlation_id'
          FROM counterfoil.events
         WHERE type IN ('job.retried', 'fulfillment.retried')
        """
    ).fetchall()
    ann = {"type": "operator", "id": "ann"}
    assert sorted(rows) == sorted(
        (stream, ann, "the panel is back", "order:shop:1")
        for stream in (job, operation)
    )


def test_a_retry_keeps_id_and_arguments_and_resets_the_budget(world: World) -> None:
    """S19."""
    job, _ = bring(world, "discarded", GENERIC)

    world.retry(job)

    head = world.connection.execute(
        """
        SELECT state, attempt, args, error_code, cause FROM counterfoil.jobs
         WHERE stream_id = %s
        """,
        (job,),
    ).fetchone()
    assert head == ("waiting", 0, {"n": 1}, None, None)
    assert world.claim(GENERIC).id == job


def test_a_retried_operation_goes_on_counting_its_attempts(world: World) -> None:
    """No two attempts may be taken for one another in the panel's book."""
    _, operation = bring(world, "discarded", SERVED)
    assert operation is not None
    world.retry(operation)

    claimed = world.claim(SERVED)
    world.start(operation)

    assert claimed.attempt == 1
    attempts = world.connection.execute(
        "SELECT state, attempts FROM counterfoil.operations WHERE stream_id = %s",
        (operation,),
    ).fetchone()
    assert attempts == ("running", 2)


@pytest.mark.parametrize("action", ["retry", "cancel"])
@pytest.mark.parametrize("key", ["nothing", "cdnow:17", "\x00\ud800", NOBODY])
def test_an_unknown_id_is_refused_and_on_record(
    world: World, action: str, key: str
) -> None:
    """I9: also what names nothing at all."""
    with pytest.raises(NotFoundError):
        world.retry(key) if action == "retry" else world.cancel(key)

    ((told_action, target, code, *_),) = world.refusals()
    assert (told_action, code) == (action, "not_found")
    assert "\x00" not in target


def test_an_order_is_neither_retried_nor_cancelled(world: World) -> None:
    _, operation = bring(world, "discarded", SERVED)
    ((order,),) = world.connection.execute(
        "SELECT order_stream_id FROM counterfoil.operations WHERE stream_id = %s",
        (operation,),
    ).fetchall()

    with pytest.raises(NotFoundError):
        world.cancel(order)

    assert len(world.refusals()) == 1


def test_a_refusal_tells_the_state_and_what_to_do_instead(world: World) -> None:
    job, _ = bring(world, "succeeded", GENERIC)

    with pytest.raises(StateConflictError) as refused:
        world.retry(job)

    assert refused.value.state == "succeeded"
    assert str(job) in str(refused.value)
    assert refused.value.remedy


def test_a_refusal_names_what_stands_in_the_way_by_its_own_id(world: World) -> None:
    job, operation = bring(world, "cancelled", SERVED)

    with pytest.raises(StateConflictError) as refused:
        world.retry(job)

    assert (refused.value.what, refused.value.key) == ("operation", str(operation))


def test_a_dead_job_with_unreadable_arguments_is_retried_with_its_record(
    world: World,
) -> None:
    """Its arguments do not name the record any more; its key still does."""
    job, operation = bring(world, "discarded", SERVED)
    assert operation is not None
    world.connection.execute(
        "UPDATE counterfoil.jobs_dead SET args = '{}' WHERE stream_id = %s", (job,)
    )

    done = world.retry(job)

    assert done.operation_id == operation
    assert done.events == ("job.retried", "fulfillment.retried")
    world.connection.execute(
        "UPDATE counterfoil.jobs SET args = %s::jsonb WHERE stream_id = %s",
        (f'{{"operation_id": "{operation}"}}', job),
    )
