"""What is true of every request, whatever it asks for."""

from pathlib import Path

import httpx
import pytest

from api.http.surface import Surface
from domain.access.permissions import Permission
from domain.access.roles import Role
from infrastructure.settings import Settings
from tests.fixtures.database import TestDatabase
from tests.fixtures.http import Api, api_over

NOBODY = "0197d3a0-0000-7000-8000-000000000000"


def problem(answer: httpx.Response) -> dict[str, object]:
    assert answer.headers["content-type"] == "application/problem+json"
    told: dict[str, object] = answer.json()
    assert told["status"] == answer.status_code
    assert told["requestId"] == answer.headers["x-request-id"]
    assert told["type"] == f"urn:counterfoil:problem:{told['code']}"
    return told


def test_what_is_nowhere_is_a_problem(api: Api) -> None:
    told = problem(httpx.get(f"{api.address}/v1/nowhere"))

    assert (told["status"], told["code"]) == (404, "not_found")


def test_another_method_is_told_which_there_are(api: Api) -> None:
    answer = httpx.put(f"{api.address}/v1/admin/jobs/{NOBODY}/retry")

    assert problem(answer)["code"] == "method_not_allowed"
    assert "POST" in answer.headers["allow"]


def test_a_request_id_comes_back_and_one_is_made(api: Api) -> None:
    given = httpx.get(f"{api.address}/v1", headers={"X-Request-ID": "shop-4711"})
    bad = httpx.get(f"{api.address}/v1", headers={"X-Request-ID": "a b"})

    assert given.headers["x-request-id"] == "shop-4711"
    assert len(bad.headers["x-request-id"]) == 32


@pytest.mark.parametrize("surface", [Surface.SHOPS, Surface.ADMIN, Surface.PANEL])
def test_nobody_is_let_in_without_a_credential(api: Api, surface: Surface) -> None:
    answer = httpx.post(f"{api.address}{surface}/jobs/{NOBODY}/retry")

    assert problem(answer)["code"] == "unauthorized"
    assert answer.headers["cache-control"] == "no-store"


def test_a_credential_opens_its_own_surface_alone(api: Api) -> None:
    token = api.client(Surface.ADMIN).headers["authorization"]
    cookie = api.client(Surface.PANEL).headers["cookie"]

    for surface in (Surface.SHOPS, Surface.PANEL):
        answer = httpx.post(
            f"{api.address}{surface}/jobs/{NOBODY}/retry",
            headers={"Authorization": token},
        )
        assert answer.status_code == 401
    for surface in (Surface.SHOPS, Surface.ADMIN):
        answer = httpx.post(
            f"{api.address}{surface}/jobs/{NOBODY}/retry", headers={"Cookie": cookie}
        )
        assert answer.status_code == 401


def test_what_a_role_does_not_allow_is_refused_and_recorded(api: Api) -> None:
    viewer = api.client(Surface.PANEL, name="vera", role=Role.VIEWER)

    answer = viewer.post(f"/jobs/{NOBODY}/retry")

    assert problem(answer)["code"] == "forbidden"
    with api.services.database.connection() as connection:
        recorded = connection.execute(
            "SELECT data->>'action', data->>'target', data->>'code', "
            "meta->'actor'->>'id', meta->>'role' FROM counterfoil.events "
            "WHERE type = 'operator.action_refused'"
        ).fetchall()
    assert recorded == [
        (
            "POST /v1/panel/jobs/{job_id}/retry",
            "permission:jobs:write",
            "forbidden",
            "vera",
            "viewer",
        )
    ]


def test_a_token_is_told_which_scope_it_lacks(api: Api) -> None:
    program = api.client(Surface.SHOPS, permissions=frozenset({Permission.JOBS_READ}))

    answer = program.post(f"/jobs/{NOBODY}/retry")

    assert problem(answer)["code"] == "insufficient_scope"
    assert 'scope="jobs:write"' in answer.headers["www-authenticate"]


def test_a_page_of_another_site_changes_nothing(api: Api) -> None:
    person = api.client(Surface.PANEL)
    path = f"/jobs/{NOBODY}/retry"

    assert person.post(path, headers={"X-CSRF-Token": "no"}).status_code == 403
    assert (
        person.post(path, headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
    )
    assert person.post(path, headers={"Origin": "https://evil.test"}).status_code == 403
    assert person.post(path).status_code == 404


def test_an_operator_says_why(api: Api) -> None:
    person = api.client(Surface.PANEL)
    del person.headers["X-Operator-Reason"]
    path = f"/jobs/{NOBODY}/retry"

    assert problem(person.post(path))["code"] == "reason_required"
    assert person.post(path, headers={"X-Operator-Reason": "%"}).status_code == 404
    bad = person.post(path, headers={"X-Operator-Reason": "%ff"})
    assert problem(bad)["errors"] == [
        {
            "parameter": "X-Operator-Reason",
            "code": "invalid_request",
            "detail": "percent-encode it as UTF-8",
        }
    ]


def test_a_parameter_that_is_not_there_is_refused(api: Api) -> None:
    answer = api.client().post(f"/jobs/{NOBODY}/retry?force=1")

    assert problem(answer)["code"] == "unknown_field"


def test_head_is_answered_like_get_without_a_body(api: Api) -> None:
    answer = httpx.head(f"{api.address}/v1/nowhere")

    assert answer.status_code == 404
    assert answer.content == b""


def test_a_process_that_only_reads_changes_nothing(
    database: TestDatabase, tmp_path: Path
) -> None:
    with api_over(database, tmp_path, Settings(read_only=True)) as api:
        answer = api.client().post(f"/jobs/{NOBODY}/retry")

    assert problem(answer)["code"] == "jobs_unavailable"
    assert answer.headers["retry-after"] == "60"
