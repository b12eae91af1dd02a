"""Many users at once, squads and the version; facts of spec remnawave.md 3."""

from typing import Any

import httpx
import pytest

from tests.simulators.stage import ALPHA, BETA, Users, failure, response


@pytest.fixture
def names(users: Users) -> list[str]:
    """Ten users, ascending by id; the odd ones DISABLED and with a Telegram id."""
    for number in range(10):
        odd: dict[str, Any] = {"status": "DISABLED", "telegramId": number}
        users.born(f"user{number}", **(odd if number % 2 else {}))
    return [f"user{number}" for number in range(10)]


def test_the_stream_is_ascending_and_pages_by_cursor(
    client: httpx.Client, names: list[str]
) -> None:
    """3 stream."""
    first = response(client.get("/api/users/stream?size=4"))
    second = response(
        client.get(f"/api/users/stream?size=6&cursor={first['nextCursor']}")
    )

    assert [user["username"] for user in first["users"]] == names[:4]
    assert (first["hasMore"], type(first["nextCursor"])) == (True, str)
    assert [user["username"] for user in second["users"]] == names[4:]
    assert (second["hasMore"], second["nextCursor"]) == (False, None)


@pytest.mark.usefixtures("names")
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("status=DISABLED", ["user1", "user3", "user5", "user7", "user9"]),
        ("telegramId=3", ["user3"]),
        ("trafficLimitStrategy=DAY", []),
        ("tag=T", []),
        ("email=x", []),
        (f"externalSquadUuid={ALPHA}", []),
    ],
)
def test_the_stream_filters(
    client: httpx.Client, query: str, expected: list[str]
) -> None:
    found = response(client.get(f"/api/users/stream?{query}"))

    assert [user["username"] for user in found["users"]] == expected


def test_an_empty_stream(client: httpx.Client) -> None:
    """3 stream: no match is 200."""
    expected: dict[str, object] = {"users": [], "nextCursor": None, "hasMore": False}

    assert response(client.get("/api/users/stream?telegramId=1")) == expected


def test_the_list_is_newest_first_by_offset(
    client: httpx.Client, names: list[str]
) -> None:
    """3 list."""
    found = response(client.get("/api/users/?start=1&size=3"))

    assert found["total"] == 10
    assert [user["username"] for user in found["users"]] == names[-2:-5:-1]


@pytest.mark.parametrize("name", ["id", "shortUuid", "username"])
def test_resolve_tells_the_three_names(users: Users, name: str) -> None:
    """1 #11."""
    born = users.born()

    found = response(users.client.post("/api/users/resolve", json={name: born[name]}))

    assert found == {key: born[key] for key in ("id", "username", "shortUuid")}


def test_resolve_of_nobody(client: httpx.Client) -> None:
    """1 #11: 404 A025."""
    answer = client.post("/api/users/resolve", json={"username": "nobody"})

    assert failure(answer) == (404, "A025")


def test_the_internal_squads(users: Users) -> None:
    """3 internal-squads."""
    users.born(activeInternalSquads=[BETA])

    found = response(users.client.get("/api/internal-squads"))

    assert found["total"] == 2
    assert [squad["uuid"] for squad in found["internalSquads"]] == [ALPHA, BETA]
    beta = found["internalSquads"][1]
    assert beta.keys() == {
        "uuid",
        "viewPosition",
        "name",
        "info",
        "inbounds",
        "createdAt",
        "updatedAt",
    }
    assert (beta["name"], beta["info"]["membersCount"]) == ("Beta", 1)


def test_the_metadata_tell_the_version(client: httpx.Client) -> None:
    """3 metadata."""
    found = response(client.get("/api/system/metadata"))

    assert found["version"] == "3.2.2"
    assert found.keys() == {"version", "build", "git"}
