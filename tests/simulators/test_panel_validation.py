"""What validation refuses with 400; each case is a fact of remnawave.md 2 and 3."""

from typing import Any

import httpx
import pytest

from tests.simulators.stage import ALPHA, FUTURE, Users


def issues(answer: httpx.Response) -> list[dict[str, Any]]:
    document = answer.json()
    assert answer.status_code == 400
    assert document["statusCode"] == 400
    assert document["message"] == "Validation failed"
    assert "errorCode" not in document
    found: list[dict[str, Any]] = document["errors"]
    for issue in found:
        assert issue.keys() >= {"code", "path", "message"}
    return found


@pytest.mark.parametrize(
    ("member", "value"),
    [
        *(("username", value) for value in ("ab", "a" * 37, "a b", "é" * 5, 7, None)),
        *(
            ("expireAt", value)
            for value in (
                None,
                1893456000000,
                "2030-01-01",
                "2030-01-01 00:00:00Z",
                "2030-01-01T00:00:00+0300",
                "2030-02-30T00:00:00Z",
                "2030-01-01T24:00:00Z",
                "12030-01-01T00:00:00Z",
                "2030-01-01t00:00:00Z",
                "2030-01-01T00:00:00z",
            )
        ),
        *(("hwidDeviceLimit", value) for value in (None, -1, 1.5, "5")),
        *(("trafficLimitBytes", value) for value in (None, -1, "5")),
        ("status", "GONE"),
        ("description", None),
        ("tag", "lower"),
        ("tag", "A" * 17),
        ("email", "nobody"),
        *(
            ("activeInternalSquads", value)
            for value in (
                None,
                ["x"],
                ["11111111-1111-0111-8111-111111111111"],  # version nibble
                ["11111111-1111-4111-1111-111111111111"],  # variant nibble
            )
        ),
    ],
)
def test_create_refuses(users: Users, member: str, value: object) -> None:
    body = {"username": "bob", "expireAt": FUTURE, member: value}

    found = issues(users.client.post("/api/users", json=body))

    assert [issue["path"] for issue in found] == [[member]]
    assert users.panel.users() == []


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("expireAt", None),
        ("trafficLimitBytes", None),
        ("trafficLimitBytes", -1),
        ("hwidDeviceLimit", 1.5),
        ("hwidDeviceLimit", -1),
        ("activeInternalSquads", None),
        ("status", "EXPIRED"),
        ("status", "LIMITED"),
        ("id", "1"),
    ],
)
def test_patch_refuses(users: Users, member: str, value: object) -> None:
    born = users.born()

    [issue] = issues(users.patch(**{"id": born["id"], member: value}))

    assert issue["path"] == [member]


def test_a_null_device_limit_is_told_as_zod_tells_it(users: Users) -> None:
    """1 #1."""
    body = {"username": "bob", "expireAt": FUTURE, "hwidDeviceLimit": None}

    [issue] = issues(users.client.post("/api/users", json=body))

    assert issue["message"] == "Invalid input: expected number, received null"


def test_an_empty_body_misses_each_required_member(client: httpx.Client) -> None:
    """2 empty body."""
    answer = client.post("/api/users", headers={"Content-Type": "application/json"})

    assert [issue["path"] for issue in issues(answer)] == [["username"], ["expireAt"]]


def test_a_body_of_another_type_is_no_body(client: httpx.Client) -> None:
    """2 wrong Content-Type."""
    answer = client.post(
        "/api/users", content=b"{}", headers={"Content-Type": "text/plain"}
    )

    [issue] = issues(answer)
    assert issue["message"] == "Invalid input: expected object, received undefined"


def test_a_patch_of_nobody_in_particular(users: Users) -> None:
    """3 PATCH selector."""
    [issue] = issues(users.patch(tag="T"))

    assert issue["message"] == "At least one of username, id must be provided"


@pytest.mark.parametrize("text", ["{", '"word"', "NaN", '{"a":NaN}', "[" * 5000])
def test_malformed_json_is_the_frameworks_400(client: httpx.Client, text: str) -> None:
    """2 malformed JSON."""
    answer = client.post(
        "/api/users", content=text, headers={"Content-Type": "application/json"}
    )

    document = answer.json()
    assert answer.status_code == 400
    assert document.keys() == {"message", "error", "statusCode"}
    assert document["error"] == "Bad Request"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("stream?size=0", (400, None)),
        ("stream?size=1001", (400, None)),
        ("stream?size=x", (400, None)),
        ("stream?cursor=x", (400, None)),
        ("stream?status=GONE", (400, None)),
        ("stream?telegramId=-1", (400, None)),
        ("stream?telegramId=x", (400, None)),
        ("stream?size=1.5", (500, "A024")),
        ("stream?wanted=x", (200, None)),
        ("?size=0", (400, None)),
        ("?size=1001", (400, None)),
        ("?start=x", (400, None)),
        ("?start=-1", (500, "A024")),
        ("?start=1e300", (500, "A024")),
        ("?start=0&size=1", (200, None)),
    ],
)
def test_the_parameters_of_pages(
    client: httpx.Client, query: str, expected: tuple[int, str | None]
) -> None:
    """3 stream, 3 list."""
    answer = client.get(f"/api/users/{query}")

    assert (answer.status_code, answer.json().get("errorCode")) == expected


@pytest.mark.parametrize("body", [{}, {"id": 1, "username": "bob"}])
def test_resolve_wants_exactly_one_name(client: httpx.Client, body: object) -> None:
    """1 #11."""
    [issue] = issues(client.post("/api/users/resolve", json=body))

    assert issue["code"] == "custom"


@pytest.mark.parametrize("days", [0, -1, 1.5, "1", None])
def test_extend_refuses(users: Users, days: object) -> None:
    born = users.born(activeInternalSquads=[ALPHA])
    path = f"/api/users/{born['id']}/actions/extend"

    [issue] = issues(users.client.post(path, json={"days": days}))

    assert issue["path"] == ["days"]
