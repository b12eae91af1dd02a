"""Operations over HTTP: under a key, with a reason, once, and on record."""

from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

import httpx
import pytest

from api.http.surface import Surface
from domain.access.roles import Role
from tests.fixtures.http import Api
from tests.operators.world import World

pytestmark = [pytest.mark.database, pytest.mark.usefixtures("heads_equal_folds")]

KEY = {"Idempotency-Key": "key-0000-0001"}
LIMITS = {"operation": "set_limits", "deviceLimit": 5}


def address(entitlement: UUID, verb: str = "operations") -> str:
    return f"/entitlements/ent_{entitlement}/{verb}"


def tags(world: World) -> list[str]:
    """Return what operators have asked for, as the log has it."""
    rows = world.connection.execute(
        """
        SELECT type FROM counterfoil.events
         WHERE meta->'actor'->>'type' = 'operator'
           AND coalesce(data->>'target_kind', 'entitlement') = 'entitlement'
         ORDER BY position
        """
    ).fetchall()
    return [row[0] for row in rows]


def told(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


def test_an_operation_is_asked_for_once_and_is_on_record(
    api: Api, world: World, entitlement: UUID
) -> None:
    program = api.client(Surface.ADMIN)
    before = tags(world)

    first = program.post(address(entitlement), json=LIMITS, headers=KEY)
    again = program.post(address(entitlement), json=LIMITS, headers=KEY)
    other = program.post(
        address(entitlement), json=LIMITS | {"deviceLimit": 6}, headers=KEY
    )

    body = first.json()
    assert first.status_code == 202
    assert first.headers["location"] == f"/v1/admin/operations/{body['id']}"
    assert body["entitlementId"] == f"ent_{entitlement}"
    assert (body["operation"], body["status"]) == ("set_limits", "pending")
    assert body["jobId"].startswith("job_")
    assert again.headers["idempotency-replayed"] == "true"
    assert (again.status_code, again.json()) == (202, body)
    assert told(other) == (409, "idempotency_key_reused")
    new = tags(world)[len(before) :]
    assert new.count("operator.action_taken") == 1
    assert new.count("fulfillment.requested") == 1


def test_many_at_once_are_one_operation(
    api: Api, world: World, entitlement: UUID
) -> None:
    program = api.client(Surface.ADMIN)

    with ThreadPoolExecutor(10) as callers:
        answers = list(
            callers.map(
                lambda _: program.post(address(entitlement), json=LIMITS, headers=KEY),
                range(10),
            )
        )

    accepted = [each for each in answers if each.status_code == 202]
    assert {told(each) for each in answers if each.status_code != 202} <= {
        (409, "idempotency_in_progress")
    }
    assert len({each.json()["id"] for each in accepted}) == 1
    assert tags(world).count("fulfillment.requested") == 1


def test_a_program_gives_a_key_and_a_person_may(api: Api, entitlement: UUID) -> None:
    program, person = api.client(Surface.ADMIN), api.client(Surface.PANEL)

    missing = program.post(address(entitlement), json=LIMITS)
    asked = person.post(address(entitlement), json=LIMITS)

    assert told(missing) == (400, "missing_idempotency_key")
    assert 'rel="describedby"' in missing.headers["link"]
    assert asked.status_code == 202


def test_a_reconciliation_is_one_for_a_quarter_of_an_hour_and_for_a_key(
    api: Api, world: World, entitlement: UUID
) -> None:
    program = api.client(Surface.ADMIN)
    wanted = {"operation": "reconcile"}
    keys = [{"Idempotency-Key": f"reconcile-{n}"} for n in (1, 2, 2)]

    answers = [
        program.post(address(entitlement), json=wanted, headers=key) for key in keys
    ]

    assert [each.status_code for each in answers] == [202] * 3
    assert len({each.json()["id"] for each in answers}) == 1
    assert ["idempotency-replayed" in each.headers for each in answers] == [
        False,
        False,
        True,
    ]
    assert tags(world).count("operator.action_taken") == 2


def test_what_is_no_operation_or_does_not_fit_is_refused(
    api: Api, entitlement: UUID
) -> None:
    program = api.client(Surface.ADMIN)

    def post(body: object) -> httpx.Response:
        return program.post(address(entitlement), json=body, headers=KEY)

    assert told(post({"operation": "create"})) == (422, "unsupported_operation")
    assert told(post({"operation": "dance"})) == (422, "unsupported_operation")
    for body, where in (
        ({}, "#/operation"),
        ({"operation": 1}, "#/operation"),
        ({"operation": "set_limits", "deviceLimit": 0}, "#/deviceLimit"),
        ({"operation": "set_limits", "colour": 1}, "#/colour"),
        ({"operation": "pause", "endsAt": "2030-01-01T00:00:00Z"}, "#/endsAt"),
        ({"operation": "extend", "endsAt": "2030-01-01T00:00:00"}, "#/endsAt"),
    ):
        answer = post(body)
        assert answer.status_code == 400
        assert [each["pointer"] for each in answer.json()["errors"]] == [where]
    early = post({"operation": "extend", "endsAt": "2020-01-01T00:00:00Z"})
    assert told(early) == (422, "fulfillment_operation_rejected")
    resumed = post({"operation": "resume"})
    assert told(resumed) == (422, "fulfillment_operation_rejected")
    assert resumed.json()["state"] == "not_paused"
    assert post(LIMITS).status_code == 202  # none of them has used up the key


def test_people_pause_and_resume(api: Api, world: World, entitlement: UUID) -> None:
    person = api.client(Surface.PANEL, name="ann")

    paused = person.post(address(entitlement, "pause"))
    twice = person.post(address(entitlement, "pause"))
    resumed = person.post(address(entitlement, "resume"), headers=KEY)
    again = person.post(address(entitlement, "resume"), headers=KEY)
    late = person.post(address(entitlement, "resume"))

    assert (paused.status_code, paused.json()["operation"]) == (202, "pause")
    assert told(twice) == (409, "not_pausable")
    assert (resumed.status_code, resumed.json()["operation"]) == (202, "resume")
    assert again.json()["id"] == resumed.json()["id"]
    assert told(late) == (409, "not_pausable")
    assert tags(world).count("operator.action_taken") == 2
    assert tags(world).count("operator.action_refused") == 2


def test_what_is_not_theirs_is_not_there(api: Api, entitlement: UUID) -> None:
    others = api.client(Surface.ADMIN, tenant="acme")
    viewer = api.client(Surface.PANEL, name="vera", role=Role.VIEWER)

    hidden = others.post(address(entitlement), json=LIMITS, headers=KEY)
    nowhere = others.post(address(UUID(int=7)), json=LIMITS, headers=KEY)
    wrong = others.post("/entitlements/job_1/operations", json=LIMITS, headers=KEY)

    assert told(hidden) == told(nowhere) == told(wrong) == (404, "not_found")
    assert told(viewer.post(address(entitlement, "pause"))) == (403, "forbidden")
    assert (
        api.client(Surface.SHOPS)
        .post(address(entitlement), json=LIMITS, headers=KEY)
        .status_code
        == 404
    )
