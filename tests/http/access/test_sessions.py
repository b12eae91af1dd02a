"""Signing in over HTTP: a cookie that no page reads, and a token that no other has."""

from pathlib import Path

import httpx
import pytest

from api.http.surface import Surface
from domain.access.permissions import Permission
from domain.access.roles import GRANTS, Role
from infrastructure.settings import Settings
from tests.fixtures.database import TestDatabase
from tests.fixtures.http import PASSWORD, SHELL, WHY, Api, api_over


def sign_in(
    api: Api, name: str = "ann", password: str = PASSWORD, **headers: str
) -> httpx.Response:
    return httpx.post(
        f"{api.address}/v1/panel/session",
        json={"name": name, "password": password},
        headers=headers,
    )


def test_whoever_signs_in_gets_a_cookie_and_may_what_their_role_may(api: Api) -> None:
    api.signed_in("ann", Role.FINANCE)

    answer = sign_in(api)

    assert answer.status_code == 201
    cookie = answer.headers["set-cookie"]
    name, _, rest = cookie.partition("=")
    value, *attributes = rest.split("; ")
    assert name == "__Host-session"
    assert len(bytes.fromhex(value)) == 32
    assert {each.lower() for each in attributes} == {
        "httponly",
        "secure",
        "samesite=lax",
        "path=/",
        "max-age=43200",
    }
    assert answer.headers["cache-control"] == "no-store"
    told = answer.json()
    me = httpx.get(f"{api.address}/v1/panel/me", headers={"Cookie": cookie})
    assert me.json()["csrfToken"] == told["csrfToken"]
    assert me.json()["permissions"] == sorted(GRANTS[Role.FINANCE])
    assert me.json()["name"] == "ann"
    assert me.json()["role"] == "finance"


def test_a_wrong_name_and_a_wrong_password_are_answered_alike(api: Api) -> None:
    api.signed_in("ann", Role.OWNER)

    wrong = [sign_in(api, "ann", "a wrong password"), sign_in(api, "nobody")]

    told = [each.json() | {"instance": "", "requestId": ""} for each in wrong]
    assert told[0] == told[1]
    assert [each.status_code for each in wrong] == [401, 401]
    assert "set-cookie" not in wrong[0].headers


def test_too_many_attempts_are_told_when_to_try_again(api: Api) -> None:
    for _ in range(10):
        assert sign_in(api, "nobody").status_code == 401

    answer = sign_in(api, "nobody")

    assert answer.status_code == 429
    assert answer.json()["code"] == "quota_exceeded"
    assert 1 <= int(answer.headers["retry-after"]) <= 60


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "https://["},
    ],
)
def test_no_page_of_another_site_signs_anybody_in(
    api: Api, headers: dict[str, str]
) -> None:
    api.signed_in("ann", Role.OWNER)

    answer = sign_in(api, **headers)

    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


def test_only_json_signs_in(api: Api) -> None:
    api.signed_in("ann", Role.OWNER)

    answer = httpx.post(
        f"{api.address}/v1/panel/session",
        data={"name": "ann", "password": PASSWORD},
    )

    assert answer.status_code == 415


def test_whoever_signs_out_is_out(api: Api) -> None:
    person = api.client(Surface.PANEL)
    assert person.get("/me").status_code == 200

    answer = person.delete("/session")

    assert answer.status_code == 204
    assert answer.headers["set-cookie"].startswith('__Host-session=""; ')
    assert person.get("/me").status_code == 401
    assert person.delete("/session").status_code == 401


def test_signing_out_takes_the_sessions_own_token(api: Api) -> None:
    person, other = api.client(Surface.PANEL), api.client(Surface.PANEL, name="bob")
    stolen = {"X-CSRF-Token": other.headers["x-csrf-token"]}

    assert person.delete("/session", headers=stolen).status_code == 403
    assert person.get("/me").status_code == 200


def test_whoever_is_disabled_or_demoted_notices_at_once(api: Api) -> None:
    person, people = api.client(Surface.PANEL, name="ann"), api.services.access.people

    people.set_role("ann", "viewer", SHELL)
    assert person.get("/me").status_code == 401

    cookie = sign_in(api).headers["set-cookie"]
    person.headers["Cookie"] = cookie
    assert person.get("/tokens").status_code == 403
    people.set_disabled("ann", SHELL, disabled=True)
    assert person.get("/me").status_code == 401
    assert sign_in(api).status_code == 401


def test_every_answer_says_how_often_one_may_ask(
    database: TestDatabase, tmp_path: Path
) -> None:
    with api_over(database, tmp_path, Settings(rate_limit_burst=3)) as api:
        program = api.client(Surface.SHOPS)
        answers = [program.get("/openapi.json") for _ in range(4)]
        other = api.client(Surface.ADMIN).get("/openapi.json")

    assert [each.status_code for each in answers] == [200, 200, 200, 429]
    assert answers[0].headers["ratelimit-policy"] == (
        '"burst";q=3;w=10, "hour";q=10000;w=3600'
    )
    assert answers[0].headers["ratelimit"].startswith('"burst";r=2;t=')
    refused = answers[3]
    assert refused.headers["ratelimit"].startswith('"burst";r=0;t=')
    assert 1 <= int(refused.headers["retry-after"]) <= 4
    assert refused.json()["code"] == "quota_exceeded"
    assert refused.json()["violated-policies"] == ["burst"]
    assert refused.json()["type"].startswith("https://iana.org/")
    assert other.status_code == 200


def test_the_limit_of_a_session_counts_for_where_it_is_used(
    database: TestDatabase, tmp_path: Path
) -> None:
    with api_over(database, tmp_path, Settings(rate_limit_burst=2)) as api:
        first, second = api.client(Surface.PANEL), api.client(Surface.PANEL, name="bob")
        assert [first.get("/me").status_code for _ in range(3)] == [200, 200, 429]
        assert second.get("/me").status_code == 200


def test_the_operator_token_makes_the_first_owner_and_nothing_else(
    database: TestDatabase, tmp_path: Path
) -> None:
    token = "0123456789abcdef" * 2
    headers = {"Authorization": f"Bearer {token}", **WHY}
    body = {"name": "grace", "role": "owner", "password": PASSWORD}
    settings = Settings(operator_token=token)
    jobs = "/v1/admin/jobs/0197d3a0-0000-7000-8000-000000000000/retry"
    with (
        api_over(database, tmp_path, settings) as api,
        httpx.Client(headers=headers, base_url=api.address) as first_start,
    ):
        assert first_start.post(jobs).status_code == 403
        viewer = first_start.post("/v1/admin/people", json=body | {"role": "viewer"})
        assert viewer.status_code == 400

        made = first_start.post("/v1/admin/people", json=body)
        again = first_start.post("/v1/admin/people", json=body | {"name": "eve"})

        assert made.status_code == 201, made.text
        assert made.json()["id"].startswith("usr_")
        assert again.status_code == 401
        assert first_start.get("/v1/admin/openapi.json").status_code == 401
        assert sign_in(api, "grace").status_code == 201


def test_people_are_added_by_whoever_may_as_much(api: Api) -> None:
    body = {"name": "eve", "role": "viewer", "password": PASSWORD}
    owner = api.client(Surface.ADMIN)
    weak = api.client(
        Surface.ADMIN, name="weak", permissions=frozenset({Permission.PEOPLE_WRITE})
    )

    assert weak.post("/people", json=body).status_code == 403
    assert owner.post("/people", json=body).status_code == 201
    assert owner.post("/people", json=body).status_code == 409
    short = owner.post("/people", json=body | {"name": "al", "password": "short"})
    assert short.status_code == 400
    assert short.json()["errors"][0]["pointer"] == "#/password"
    assert PASSWORD not in short.text
