"""Tokens over HTTP: shown once, of one surface, gone when they are revoked."""

import httpx
import pytest

from api.http.surface import Surface
from domain.access.roles import Role
from tests.fixtures.http import Api

BODY = {"name": "webshop", "surface": "shop", "scopes": ["jobs:read"]}


def test_a_token_is_shown_once_and_opens_its_own_surface(api: Api) -> None:
    owner = api.client(Surface.PANEL)

    answer = owner.post("/tokens", json=BODY)

    assert answer.status_code == 201, answer.text
    made = answer.json()
    assert made["text"].startswith("ffl_live_")
    id_ = made["token"]["id"]
    assert answer.headers["location"] == f"/v1/panel/tokens/{id_}"
    listed = owner.get("/tokens")
    assert [each["id"] for each in listed.json()["items"]] == [id_]
    assert made["text"].rsplit("_", 1)[1] not in listed.text
    bearer = {"Authorization": f"Bearer {made['text']}"}
    opened = [
        httpx.get(f"{api.address}{surface}/{path}", headers=bearer).status_code
        for surface, path in (
            (Surface.SHOPS, "openapi.json"),
            (Surface.ADMIN, "openapi.json"),
            (Surface.PANEL, "me"),
        )
    ]
    assert opened == [200, 401, 401]


def test_a_revoked_token_is_over_with_the_next_request(api: Api) -> None:
    owner = api.client(Surface.PANEL)
    made = owner.post("/tokens", json=BODY).json()
    bearer = {"Authorization": f"Bearer {made['text']}"}
    path = f"{api.address}/v1/openapi.json"
    assert httpx.get(path, headers=bearer).status_code == 200

    for _ in range(2):
        assert owner.delete(f"/tokens/{made['token']['id']}").status_code == 204

    refused = httpx.get(path, headers=bearer)
    assert refused.status_code == 401
    assert 'error="invalid_token"' in refused.headers["www-authenticate"]


def test_nobody_gives_a_token_more_than_they_may_do(api: Api) -> None:
    administrator = api.client(Surface.PANEL, role=Role.ADMINISTRATOR)

    answer = administrator.post("/tokens", json=BODY | {"scopes": ["people:write"]})

    assert answer.status_code == 403
    assert "people:write" in answer.json()["detail"]


def test_tokens_of_another_tenant_do_not_exist(api: Api) -> None:
    theirs = api.client(Surface.PANEL, name="bob", tenant="other")
    made = theirs.post("/tokens", json=BODY).json()
    owner = api.client(Surface.PANEL)

    answer = owner.delete(f"/tokens/{made['token']['id']}")

    assert answer.status_code == 404
    assert owner.get("/tokens").json()["items"] == []
    assert theirs.get("/tokens").json()["items"][0]["state"] == "live"


@pytest.mark.parametrize(
    ("member", "value", "status"),
    [
        ("name", "Web Shop", 400),
        ("surface", "panel", 400),
        ("scopes", [], 400),
        ("scopes", ["everything"], 400),
        ("expiresInDays", 366, 400),
        ("allowedFrom", ["here"], 400),
        ("secret", "my own", 400),
    ],
)
def test_what_cannot_be_meant_is_refused_with_its_place(
    api: Api, member: str, value: object, status: int
) -> None:
    owner = api.client(Surface.PANEL)

    answer = owner.post("/tokens", json=BODY | {member: value})

    assert answer.status_code == status
    (mistake,) = answer.json()["errors"]
    assert member in mistake["pointer"]
    if value in ("panel", ["everything"]):
        known = {"surface": "one of admin, shop", "scopes": "deadletters:write, "}
        assert known[member] in mistake["detail"]


def test_a_taken_name_is_a_conflict(api: Api) -> None:
    owner = api.client(Surface.PANEL)
    owner.post("/tokens", json=BODY)

    answer = owner.post("/tokens", json=BODY)

    assert answer.status_code == 409
    assert answer.json()["state"] == "there already"
