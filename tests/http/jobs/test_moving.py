"""Waiting jobs are retried now, or snoozed; dead letters are seen to."""

from datetime import UTC, datetime

import httpx
import pytest

from domain.access.permissions import Permission
from tests.fixtures.http import Api
from tests.operators.world import GENERIC, SERVED, World, bring

pytestmark = [
    pytest.mark.database,
    pytest.mark.usefixtures("heads_equal_folds", "messages_equal_events"),
]

LATER = "2999-01-01T00:00:00Z"


def code(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json().get("code", "")


def head(world: World, job: object) -> tuple[object, ...]:
    ((state, attempt, run_at, cause),) = world.connection.execute(
        "SELECT state, attempt, run_at, cause FROM counterfoil.jobs"
        " WHERE stream_id = %s",
        (job,),
    ).fetchall()
    return state, attempt, run_at, cause


def test_a_job_in_backoff_is_retried_now(api: Api, world: World) -> None:
    job, operation = bring(world, "after_failure", SERVED)

    answer = api.client().post(f"/jobs/job_{job}/retry")

    assert answer.status_code == 202, answer.text
    assert answer.json()["state"] == "available"
    assert answer.json()["events"] == ["job.rescheduled", "fulfillment.retried"]
    assert head(world, job)[:2] == ("waiting", 0)
    ((state, due),) = world.connection.execute(
        "SELECT state, next_attempt_at FROM counterfoil.operations"
        " WHERE stream_id = %s",
        (operation,),
    ).fetchall()
    assert (state, due) == ("pending", None)
    assert world.claim(SERVED).id == job


def test_what_runs_now_already_is_somebody_elses_retry(api: Api, world: World) -> None:
    """Of two operators who retry one dead job the second is told so (mechanisms 19)."""
    job, _ = bring(world, "due", GENERIC)

    answer = api.client().post(f"/jobs/job_{job}/retry")

    assert answer.status_code in {409, 422}
    assert answer.json()["state"] == "waiting"
    assert "job.retried" not in {each[0] for each in world.taken()}


def test_a_snoozed_job_waits_and_keeps_its_attempts(api: Api, world: World) -> None:
    job, _ = bring(world, "after_failure", GENERIC)

    answer = api.client().post(f"/jobs/job_{job}/snooze", json={"until": LATER})
    again = api.client().post(f"/jobs/job_{job}/snooze", json={"until": LATER})

    assert answer.status_code == 200, answer.text
    assert answer.json()["events"] == ["job.rescheduled"]
    assert again.json()["events"] == []
    until = datetime(2999, 1, 1, tzinfo=UTC)
    assert head(world, job) == ("waiting", 1, until, None)
    assert world.taken()[-1][0] == "job.snoozed"


@pytest.mark.parametrize("state", ["running", "held", "discarded", "cancelled"])
def test_only_what_waits_by_itself_is_snoozed(
    api: Api, world: World, state: str
) -> None:
    job, _ = bring(world, state, GENERIC)

    answer = api.client().post(f"/jobs/job_{job}/snooze", json={"until": LATER})

    assert code(answer) == (422, "job_mutation_rejected")


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"until": "soon"},
        {"until": "2999-01-01T00:00:00"},
        {"until": "2001-01-01T00:00:00Z"},
        {"until": LATER, "force": True},
    ],
)
def test_an_instant_that_is_none_is_refused(
    api: Api, world: World, body: dict[str, object]
) -> None:
    job, _ = bring(world, "due", GENERIC)

    answer = api.client().post(f"/jobs/job_{job}/snooze", json=body)

    assert answer.status_code == 400, answer.text


def test_a_dead_letter_is_seen_to_and_dismissed(api: Api, world: World) -> None:
    job, operation = bring(world, "discarded", SERVED)
    seer = api.client(permissions=frozenset({Permission.DEADLETTERS_WRITE}))

    seen = seer.post(f"/dead-letters/op_{operation}/acknowledge")
    gone = seer.post(f"/dead-letters/job_{job}/dismiss")
    back = seer.post(f"/dead-letters/op_{operation}/redrive")
    alive = seer.post(f"/dead-letters/op_{operation}/dismiss")

    assert (seen.status_code, seen.json()["events"]) == (
        *(200, ["dead_letter.acknowledged"]),
    )
    assert (gone.status_code, gone.json()["events"]) == (
        *(200, ["dead_letter.dismissed"]),
    )
    assert back.status_code == 202
    assert code(alive) == (409, "state_conflict")
    assert [row[0] for row in world.taken() if "letter" in row[0]] == [
        "dead_letter.acknowledged",
        "dead_letter.dismissed",
    ]
