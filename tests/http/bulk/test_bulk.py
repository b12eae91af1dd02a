"""Bulk operations over HTTP, from the question to the last item (S19, S31)."""

from typing import Any
from uuid import UUID

import httpx
import pytest

from api.http.surface import Surface
from domain.access.permissions import Permission
from domain.access.roles import Role
from domain.jobs.outcome import Completed
from infrastructure.ids import new_id
from tests.bulk.stage import Stage, person
from tests.fixtures.http import Api
from tests.fixtures.workers import enqueue

pytestmark = pytest.mark.database

BOTH = pytest.mark.parametrize("surface", [Surface.ADMIN, Surface.PANEL])
KEY = {"Idempotency-Key": "ticket-4711"}


def ask(client: httpx.Client, *ids: object, **more: object) -> httpx.Response:
    body = {
        "action": "retry",
        "target": {"ids": [f"job_{each}" for each in ids]},
        "itemsPerSecond": 1000,
        **more,
    }
    return client.post("/bulk-operations", json=body, headers=KEY)


def step(client: httpx.Client, bulk: str, verb: str, **headers: str) -> httpx.Response:
    """Take one step, as whoever has just looked."""
    if not headers:
        tag = client.get(f"/bulk-operations/{bulk}").headers["etag"]
        headers = {"If-Match": tag}
    return client.post(f"/bulk-operations/{bulk}/{verb}", headers=headers)


def problem(answer: httpx.Response, status: int, code: str) -> dict[str, Any]:
    """Return the problem that was answered."""
    told: dict[str, Any] = answer.json()
    assert (answer.status_code, told["code"]) == (status, code), told
    assert answer.headers["content-type"] == "application/problem+json"
    return told


def raw(id_: str) -> UUID:
    return UUID(id_.removeprefix("blk_"))


def mixed(stage: Stage) -> list[UUID]:
    """Return 20 dead jobs, but 2 have succeeded since and 3 have live twins."""
    dead = stage.dead(17)
    for job in dead[:2]:
        stage.retry(str(job), person())
    stage.end(*[Completed()] * 2)
    for key in ("a", "b", "c"):
        dead += stage.dead(1, uniqueKey=key)
    for key in ("a", "b", "c"):
        enqueue(stage.connection, "report", args={"n": 7}, uniqueKey=key)
    return dead


@BOTH
def test_a_hundred_dead_jobs_are_retried_but_those_that_cannot_be(
    surface: Surface, stage: Stage, api: Api
) -> None:
    """S19."""
    ann, others = api.client(surface), stage.dead(2)
    dead = mixed(stage)

    asked = ask(ann, *dead)
    assert asked.status_code == 201
    told = asked.json()
    assert (told["state"], told["items"]) == ("previewing", 20)
    assert asked.headers["location"] == f"{surface}/bulk-operations/{told['id']}"
    stage.work()
    preview = ann.get(f"/bulk-operations/{told['id']}").json()
    assert preview["verdicts"] == {"would_retry": 15, "live_twin": 3, "succeeded": 2}

    started = step(ann, told["id"], "start")
    assert (started.status_code, started.json()["state"]) == (202, "running")
    assert started.headers["retry-after"] == "2"
    stage.work()

    ended = ann.get(f"/bulk-operations/{told['id']}").json()
    assert ended["state"] == "finished"
    assert ended["progress"] == {
        "previewed": 20, "done": 15, "refused": 5, "left": 0,
    }  # fmt: skip
    items = ann.get(f"/bulk-operations/{told['id']}/items").json()["items"]
    twins = [each for each in items if each["result"] == "unique_job_active"]
    assert len(twins) == 3
    assert "has a live twin" in twins[0]["detail"]
    assert {stage.tags(job)[-1] for job in others} == {"job.discarded"}

    before = stage.log()
    again = ask(ann, *dead)
    stage.work()
    assert again.status_code == 201
    assert again.headers["idempotency-replayed"] == "true"
    assert (again.json()["id"], again.json()["state"]) == (told["id"], "finished")
    assert stage.log() == before


def test_dead_letters_are_seen_to_in_bulk_by_who_may(stage: Stage, api: Api) -> None:
    ann, dead = api.client(), stage.dead(2)
    bob = api.client(
        name="bob",
        permissions=frozenset({Permission.BULK_WRITE, Permission.JOBS_WRITE}),
    )

    problem(ask(bob, *dead, action="dismiss"), 403, "forbidden")
    bulk = ask(ann, *dead, action="acknowledge").json()["id"]
    stage.work()
    step(ann, bulk, "start")
    stage.work()
    stage.follow()

    letters = ann.get("/dead-letters").json()["items"]
    assert [each["acknowledgedBy"] for each in letters] == ["token:ann"] * 2


def test_other_things_under_the_same_key_are_refused(stage: Stage, api: Api) -> None:
    ann, dead = api.client(), stage.dead(2)
    ask(ann, dead[0])

    problem(ask(ann, dead[1]), 409, "idempotency_key_reused")


@pytest.mark.parametrize(
    ("body", "status", "code", "pointer"),
    [
        ({"target": {"ids": []}}, 422, "empty_filter", "#/target/ids"),
        ({"target": {"filter": " "}}, 422, "empty_filter", "#/target/filter"),
        ({"target": {"filter": "hue:red"}}, 400, "invalid_filter", "#/target/filter"),
        ({"target": {}}, 400, "invalid_request", "#/target"),
        ({"target": {"ids": ["ord_1"]}}, 400, "invalid_request", "#/target/ids/0"),
        ({"action": "explode"}, 400, "invalid_request", "#/action"),
        ({"itemsPerSecond": 0}, 400, "invalid_request", "#/itemsPerSecond"),
        ({"colour": "red"}, 400, "unknown_field", None),
    ],
)
def test_what_is_wrong_is_told_with_its_place(
    api: Api, body: dict[str, Any], status: int, code: str, pointer: str | None
) -> None:
    told = problem(ask(api.client(), new_id(), **body), status, code)

    if pointer is not None:
        assert told["errors"][0]["pointer"] == pointer


def test_an_operator_asks_for_a_hundred_things_at_most(api: Api) -> None:
    ivan = api.client(Surface.PANEL, role=Role.OPERATOR)

    problem(ask(ivan, *[new_id() for _ in range(101)]), 422, "bulk_limit")


def test_another_person_approves_of_many_things(stage: Stage, api: Api) -> None:
    ann = api.client(Surface.PANEL, name="ann", role=Role.ADMINISTRATOR)
    bob = api.client(Surface.PANEL, name="bob", role=Role.ADMINISTRATOR)
    bulk = ask(ann, *stage.dead(1)).json()["id"]
    stage.connection.execute(
        "UPDATE counterfoil.bulk_operations SET most_unapproved = 0"
    )
    stage.work()

    problem(step(ann, bulk, "start"), 409, "state_conflict")
    problem(step(ann, bulk, "approve"), 403, "self_approval")
    approved = step(bob, bulk, "approve")
    assert (approved.status_code, approved.json()["state"]) == (200, "ready")
    assert approved.json()["approvedBy"]["id"].startswith("bob")
    assert step(ann, bulk, "start").status_code == 202


def test_a_step_is_taken_by_whoever_has_looked(stage: Stage, api: Api) -> None:
    ann = api.client()
    bulk = ask(ann, *stage.dead(1)).json()["id"]
    stale = ann.get(f"/bulk-operations/{bulk}").headers["etag"]
    stage.work()

    without = ann.post(f"/bulk-operations/{bulk}/start")
    problem(without, 428, "precondition_required")
    problem(step(ann, bulk, "start", **{"If-Match": stale}), 412, "precondition_failed")
    assert step(ann, bulk, "start").status_code == 202


def test_it_is_paused_resumed_and_cancelled(stage: Stage, api: Api) -> None:
    ann = api.client()
    bulk = ask(ann, *stage.dead(3)).json()["id"]
    stage.work()
    step(ann, bulk, "start")

    assert step(ann, bulk, "pause").json()["state"] == "paused"
    assert step(ann, bulk, "resume").json()["state"] == "running"
    ended = step(ann, bulk, "cancel")
    stage.work()

    assert (ended.status_code, ended.json()["state"]) == (200, "cancelled")
    assert ended.json()["progress"]["left"] == 3
    problem(step(ann, bulk, "resume"), 409, "state_conflict")


def test_lists_go_on_behind_a_signed_cursor(api: Api) -> None:
    ann = api.client()
    bulk = ask(ann, *[new_id() for _ in range(5)]).json()["id"]

    first = ann.get(f"/bulk-operations/{bulk}/items", params={"limit": 3}).json()
    cursor = first["page"]["next"]
    params = {"limit": "3", "cursor": cursor}
    second = ann.get(f"/bulk-operations/{bulk}/items", params=params).json()

    assert [each["n"] for each in first["items"]] == [1, 2, 3]
    assert [each["n"] for each in second["items"]] == [4, 5]
    assert second["page"]["next"] is None
    other = ann.get("/bulk-operations", params={"cursor": cursor})
    problem(other, 400, "invalid_cursor")
    every = ann.get("/bulk-operations").json()["items"]
    assert [each["id"] for each in every] == [bulk]


def test_operations_of_another_tenant_do_not_exist(stage: Stage, api: Api) -> None:
    bulk = ask(api.client(), *stage.dead(1)).json()["id"]
    stranger = api.client(tenant="other")

    assert stranger.get("/bulk-operations").json()["items"] == []
    for path in (bulk, f"{bulk}/items"):
        problem(stranger.get(f"/bulk-operations/{path}"), 404, "not_found")
    tag = {"If-Match": f'"{bulk}:2"'}
    for verb in ("approve", "start", "pause", "resume", "cancel"):
        problem(step(stranger, bulk, verb, **tag), 404, "not_found")
    assert stage.head(raw(bulk))["version"] == 2


def test_items_of_a_full_house_wait_and_obey_the_limit(stage: Stage, api: Api) -> None:
    """S31."""
    ann = api.client()
    bulk = ask(ann, *stage.dead(2)).json()["id"]
    stage.work()
    stage.connection.execute("UPDATE counterfoil.limits SET max_tenant_pending = 3")
    while stage.parts.items.room("default"):
        enqueue(stage.connection, "report", args={"n": 1})
    step(ann, bulk, "start")
    stage.work()

    waiting = ann.get(f"/bulk-operations/{bulk}").json()
    assert waiting["progress"]["left"] == 2
    assert waiting["noRoomSince"] is not None
