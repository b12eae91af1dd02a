"""S30: who may do what to which job, and what is on record of it."""

from typing import Any

import httpx
import pytest
from psycopg.errors import DatabaseError

from api.http.surface import Surface
from domain.access.roles import Role
from tests.fixtures.http import Api
from tests.operators.world import GENERIC, SERVED, World, bring

pytestmark = pytest.mark.database

NEVER = {"succeeded": "state_conflict", "running": "job_mutation_rejected"}


def code(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json().get("code", "")


def audit(world: World) -> list[tuple[Any, ...]]:
    """Return what was done and refused: what, outcome, by whom, as what, and why."""
    return world.connection.execute(
        """
        SELECT data->>'action', type, meta->'actor'->>'id', meta->>'role',
               meta->>'reason', meta->'causation'->>'request_id'
          FROM counterfoil.events
         WHERE type IN ('operator.action_taken', 'operator.action_refused')
           AND data->>'action' NOT LIKE 'person.%'
           AND data->>'action' NOT LIKE 'session.%'
           AND data->>'action' NOT LIKE 'token.%'
         ORDER BY position
        """
    ).fetchall()


@pytest.mark.parametrize("surface", [Surface.SHOPS, Surface.ADMIN, Surface.PANEL])
@pytest.mark.parametrize("state", ["succeeded", "running", "cancelled", "discarded"])
def test_a_retry_is_answered_by_the_state_of_the_job(
    api: Api, world: World, surface: Surface, state: str
) -> None:
    job, _ = bring(world, state, GENERIC)
    before = len(audit(world))

    answer = api.client(surface).post(
        f"/jobs/job_{job}/retry", headers={"X-Request-ID": "request-4711"}
    )

    if state in NEVER:
        statuses = {"state_conflict": 409, "job_mutation_rejected": 422}
        assert code(answer) == (statuses[NEVER[state]], NEVER[state])
    else:
        assert answer.status_code == 202, answer.text
        assert answer.headers["location"] == f"{surface}/jobs/job_{job}"
        told = answer.json()
        waits = "queued" if surface is Surface.SHOPS else "available"
        assert (told["jobId"], told["state"]) == (f"job_{job}", waits)
        assert told["events"] == ["job.retried"]
    ((action, tag, who, _, reason, request),) = audit(world)[before:]
    refused = "operator.action_refused"
    assert tag == (refused if state in NEVER else "operator.action_taken")
    assert action == ("retry" if state in NEVER else "job.retried")
    assert request == "request-4711"
    names = {Surface.SHOPS: "ann", Surface.ADMIN: "token:ann", Surface.PANEL: "ann"}
    assert who == names[surface]
    shops = surface is Surface.SHOPS
    assert reason == ("asked for over the API" if shops else "the customer asked")


def test_roles_may_what_they_may_and_every_refusal_is_on_record(
    api: Api, world: World
) -> None:
    allowed = {Role.SUPPORT, Role.OPERATOR, Role.ADMINISTRATOR, Role.OWNER}
    for role in Role:
        job, _ = bring(world, "discarded", GENERIC)
        answer = api.client(Surface.PANEL, name=role, role=role).post(
            f"/jobs/job_{job}/retry"
        )
        last = audit(world)[-1]
        if role in allowed:
            assert answer.status_code == 202, role
            assert last[:4] == ("job.retried", "operator.action_taken", role, role)
            world.cancel(job)
        else:
            assert code(answer) == (403, "forbidden"), role
            assert last[1:4] == ("operator.action_refused", role, role)
            assert world.state_of(job) == "discarded"


def test_without_a_reason_nothing_is_done(api: Api, world: World) -> None:
    job, _ = bring(world, "discarded", GENERIC)
    for surface in (Surface.ADMIN, Surface.PANEL):
        client = api.client(surface)
        del client.headers["X-Operator-Reason"]
        for reason in (None, "", "%20", "x" * 401):
            headers = {} if reason is None else {"X-Operator-Reason": reason}
            answer = client.post(f"/jobs/job_{job}/retry", headers=headers)
            assert code(answer) == (422, "reason_required"), reason
    assert world.state_of(job) == "discarded"
    ok = api.client(Surface.PANEL).post(
        f"/jobs/job_{job}/retry",
        headers={
            "X-Operator-Reason": "%D0%BF%D0%BE%D1%87%D0%B8%D0%BD%D0%B5%D0%BD%D0%BE"
        },
    )
    assert ok.status_code == 202
    assert audit(world)[-1][4] == "починено"


def test_what_changed_since_it_was_looked_at_is_left_alone(
    api: Api, world: World
) -> None:
    """412 over HTTP: an `If-Match` is a precondition, not a state."""
    job, _ = bring(world, "discarded", GENERIC)
    client = api.client()

    stale = client.post(
        f"/jobs/job_{job}/retry", headers={"If-Match": f'"job_{job}:1"'}
    )
    fresh = client.post(
        f"/jobs/job_{job}/retry", headers={"If-Match": f'"job_{job}:3"'}
    )

    assert code(stale) == (412, "precondition_failed")
    assert fresh.status_code == 202
    assert len(audit(world)) >= 2


def test_nobody_of_another_tenant_finds_it(api: Api, world: World) -> None:
    jobs = [bring(world, it, GENERIC)[0] for it in ("discarded", "succeeded")]
    stranger = api.client(tenant="elsewhere")

    for job in jobs:
        for verb in ("retry", "cancel"):
            answer = stranger.post(f"/jobs/job_{job}/{verb}")
            assert code(answer) == (404, "not_found")


def test_the_database_itself_brings_nothing_back(world: World) -> None:
    """I6: whoever goes round the product is refused by the table's own triggers."""
    job, _ = bring(world, "succeeded", GENERIC)
    columns = (
        "stream_id, tenant_id, version, state, kind, queue, priority, run_at, args"
    )

    with pytest.raises(DatabaseError):
        world.connection.execute(
            f"INSERT INTO counterfoil.jobs ({columns}) VALUES "  # noqa: S608
            "(%s, 'default', 4, 'waiting', 'report', 'default', 1, "
            "counterfoil.now(), '{}')",
            (job,),
        )
    assert world.state_of(job) == "gone"


def test_the_earlier_products_paths_are_about_operations(
    api: Api, world: World
) -> None:
    """Requirements 10.2: 409 for what runs or has succeeded, also by another route."""
    person = api.client(Surface.PANEL)
    _, failed = bring(world, "discarded", SERVED)
    _, running = bring(world, "running", SERVED)

    again = person.post(f"/system/jobs/op_{failed}/retry")
    busy = person.post(f"/system/jobs/{running}/retry")
    asked = person.post(f"/operations/op_{running}/cancel")
    twice = person.post(f"/system/jobs/op_{running}/cancel")

    assert again.status_code == 202, again.text
    assert again.json()["operationId"] == f"op_{failed}"
    assert code(busy) == (409, "state_conflict")
    assert (asked.status_code, asked.json()["events"]) == (
        202,
        ["job.cancel_requested"],
    )
    assert (twice.status_code, twice.json()["events"]) == (202, [])
    actions = [row[0] for row in audit(world) if row[1].endswith("taken")]
    assert actions == ["panel.fulfillment.retried"] + 2 * [
        "panel.fulfillment.cancelled"
    ]


def test_a_twin_is_named(api: Api, world: World) -> None:
    """S19."""
    job = world.report(uniqueKey="one")
    world.cancel(job)
    twin = world.report(uniqueKey="one")

    answer = api.client().post(f"/jobs/job_{job}/retry")

    assert code(answer) == (409, "unique_job_active")
    assert str(twin) in answer.json()["detail"]


def test_a_repeated_request_has_one_effect_and_one_record(
    api: Api, world: World
) -> None:
    job, _ = bring(world, "discarded", GENERIC)
    client = api.client()
    key = {"Idempotency-Key": "retry-000001"}

    first = client.post(f"/jobs/job_{job}/retry", headers=key)
    world.cancel(job)
    again = client.post(f"/jobs/job_{job}/retry", headers=key)
    other = client.post(f"/jobs/job_{job}/cancel", headers=key)

    assert first.status_code == again.status_code == 202
    assert again.headers["idempotency-replayed"] == "true"
    assert (again.json()["state"], again.json()["events"]) == ("cancelled", [])
    assert code(other) == (409, "idempotency_key_reused")
    assert [row[0] for row in audit(world)].count("job.retried") == 1
