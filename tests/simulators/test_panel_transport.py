"""HTTP as the panel speaks it; each case is a fact of spec remnawave.md 1 and 2."""

import socket
import threading
import time
from collections.abc import Mapping
from pathlib import Path

import httpx
import pytest

from infrastructure.simulators.panel.backing.tokens import signed
from infrastructure.simulators.panel.simulator import PanelSimulator
from tests.simulators.stage import FORWARDED, HEADERS, TOKEN, Users, failure, response

DELETED = signed({"uuid": "once", "role": "API"})
FORGED = signed({"uuid": "once", "role": "API"}, b"another key")
HEAD = "\r\n".join(
    [
        "GET /api/users?size=1 HTTP/1.1",
        *(f"{k}: {v}" for k, v in HEADERS.items()),
        "\r\n",
    ]
).encode()


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"X-Forwarded-For": "10.0.0.1"},
        {"X-Forwarded-Proto": "https"},
        {"X-Forwarded-For": "", "X-Forwarded-Proto": "https"},
        {"X-Forwarded-For": "10.0.0.1", "X-Forwarded-Proto": "HTTPS"},
        {"X-Forwarded-For": "10.0.0.1", "X-Forwarded-Proto": "https,http"},
        {"X-Forwarded-For": "10.0.0.1", "X-Forwarded-Proto": "http"},
    ],
)
@pytest.mark.parametrize("path", ["/api/users", "/nowhere"])
def test_a_request_that_was_not_forwarded_gets_no_byte(
    panel: PanelSimulator, headers: Mapping[str, str], path: str
) -> None:
    """1 #5: a clean close, before authentication."""
    with pytest.raises(httpx.RemoteProtocolError, match="without sending a response"):
        httpx.get(panel.url + path, headers=headers)

    [row] = panel.book()
    assert (row.status, row.answered, row.fault) == (None, False, None)


def test_any_text_will_do_as_forwarded_for(panel: PanelSimulator) -> None:
    """1 #5."""
    headers = {**HEADERS, "X-Forwarded-For": "anything"}

    assert httpx.get(f"{panel.url}/api/users", headers=headers).status_code == 200


def test_a_panel_in_development_asks_for_no_proxy(tmp_path: Path) -> None:
    with PanelSimulator(
        book=tmp_path / "book", token=TOKEN, require_forwarded=False
    ) as panel:
        answer = httpx.get(
            f"{panel.url}/api/users", headers={"Authorization": f"Bearer {TOKEN}"}
        )

    assert answer.status_code == 200


@pytest.mark.parametrize(
    ("authorization", "status"),
    [
        (None, 401),
        (TOKEN, 401),  # a bare token
        (f"Basic {TOKEN}", 401),
        ("Bearer garbage", 401),
        (f"Bearer {DELETED}", 403),  # once signed by the panel, deleted since
        (f"Bearer {FORGED}", 401),
        (f"bearer {TOKEN}", 200),  # 2 token scheme: any case of the word
        (f"BEARER {TOKEN}", 200),
    ],
)
def test_the_token(
    panel: PanelSimulator, authorization: str | None, status: int
) -> None:
    """1 #3, #4."""
    headers = dict(FORWARDED)
    if authorization is not None:
        headers["Authorization"] = authorization

    answer = httpx.get(f"{panel.url}/api/users", headers=headers)

    expected = {
        401: {"message": "Unauthorized", "statusCode": 401},
        403: {
            "message": "Forbidden resource",
            "error": "Forbidden",
            "statusCode": 403,
        },
    }
    assert answer.status_code == status
    assert answer.json() == expected.get(status, answer.json())


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("PUT", "/api/users"),
        ("GET", "/api/users/by-telegram-id/5"),
        ("GET", "/api//users"),
        ("GET", "/api/users//"),
        ("GET", "/"),
        ("GET", "/api/nowhere?x=1"),
    ],
)
def test_an_unknown_route_has_no_code(
    panel: PanelSimulator, method: str, path: str
) -> None:
    """2 unknown route or method: also without a token."""
    answer = httpx.request(method, panel.url + path, headers=FORWARDED)

    assert answer.status_code == 404
    assert answer.json() == {
        "message": f"Cannot {method} {path}",
        "error": "Not Found",
        "statusCode": 404,
    }


def test_a_slash_at_the_end_and_capitals_are_tolerated(users: Users) -> None:
    """2 trailing slash; what stands for a parameter keeps its case."""
    born = users.born("Bob")

    for path in ("/api/users/1/", "/API/Users/1", "/api/users/BY-USERNAME/Bob/"):
        assert response(users.client.get(path)) == born
    assert failure(users.client.get("/api/users/by-username/BOB")) == (404, "A063")
    assert users.client.post("/api/users/1/actions/disable/").status_code == 200
    assert users.client.get("/api/users/?size=1").status_code == 200


def test_a_domain_error_names_time_path_and_query(client: httpx.Client) -> None:
    """2 domain error."""
    assert client.get("/api/users/7?x=1").json() == {
        "timestamp": "2027-01-15T08:00:10.000Z",
        "path": "/api/users/7?x=1",
        "message": "User with specified params not found",
        "errorCode": "A063",
    }


def test_a_weak_tag_saves_the_body(client: httpx.Client) -> None:
    """2 ETag."""
    first = client.get("/api/users")
    second = client.get("/api/users", headers={"If-None-Match": first.headers["ETag"]})

    assert first.headers["ETag"].startswith('W/"')
    assert (second.status_code, second.content) == (304, b"")


def test_no_answer_is_compressed_or_limited(client: httpx.Client) -> None:
    """2 compression, rate limit."""
    answer = client.get("/api/users", headers={"Accept-Encoding": "gzip, br"})

    assert "Content-Encoding" not in answer.headers
    assert not {"retry-after", "ratelimit", "x-ratelimit-limit"} & {*answer.headers}


def test_a_connection_is_kept_and_idles_six_seconds(panel: PanelSimulator) -> None:
    """2 keep-alive."""
    with socket.create_connection(("127.0.0.1", panel.port), timeout=10) as line:
        line.sendall(HEAD)
        first = line.recv(65536)
        asked_at = time.monotonic()
        line.sendall(HEAD)
        second = line.recv(65536)
        closed = line.recv(65536)
        idle_s = time.monotonic() - asked_at

    assert b"\r\nKeep-Alive: timeout=5\r\n" in first
    assert first.startswith(b"HTTP/1.1 200 OK\r\n")
    assert second.startswith(b"HTTP/1.1 200 OK\r\n")
    assert closed == b""
    assert idle_s > 5.9


def test_requests_may_come_in_pieces_and_in_one_piece(panel: PanelSimulator) -> None:
    with socket.create_connection(("127.0.0.1", panel.port), timeout=10) as line:
        line.sendall(HEAD[:30])
        line.sendall(HEAD[30:] + HEAD)
        received = b""
        while received.count(b"HTTP/1.1 200 OK") < 2:
            received += line.recv(65536)

    assert len(panel.book()) == 2


@pytest.mark.parametrize(
    "head",
    [
        b"nonsense\r\n\r\n",
        b"GET /api/users HTTP/1.1\r\nno header\r\n\r\n",
        b"POST /api/users HTTP/1.1\r\nContent-Length: x\r\n\r\n",
        b"POST /api/users HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"GET /" + b"x" * 70_000,
    ],
)
def test_what_is_no_request_is_no_row(panel: PanelSimulator, head: bytes) -> None:
    with socket.create_connection(("127.0.0.1", panel.port), timeout=10) as line:
        line.sendall(head)
        answer = line.recv(65536)

    assert answer.startswith(b"HTTP/1.1 400 ")
    assert panel.book() == []


def test_a_request_whose_client_has_gone_is_carried_out(
    panel: PanelSimulator, users: Users
) -> None:
    """2 lost answers."""
    born = users.born()
    hold = panel.hold("PATCH", "/api/users", when="before")

    with pytest.raises(httpx.ReadTimeout):
        users.client.patch(
            "/api/users", json={"id": born["id"], "tag": "LATE"}, timeout=0.2
        )
    held = hold.wait_arrived()
    hold.release()
    panel.close()

    [row] = [row for row in panel.book() if row.seq == held.seq]
    assert (row.applied, row.answered) == (True, False)


def test_ten_creates_at_once_make_one_user(panel: PanelSimulator, users: Users) -> None:
    """3 duplicate username: one 201, nine A019; 3 disables at once: one 200."""
    creates = at_once(
        panel,
        "POST",
        "/api/users",
        {"username": "bob", "expireAt": "2030-01-01T00:00:00Z"},
    )
    [user] = panel.users()
    disables = at_once(panel, "POST", f"/api/users/{user.id}/actions/disable", None)

    assert sorted(creates) == [201, *[400] * 9]
    assert sorted(disables) == [200, *[400] * 9]
    assert users.get(user.id)["status"] == "DISABLED"


def at_once(panel: PanelSimulator, method: str, path: str, body: object) -> list[int]:
    """Return the statuses of ten requests that start together."""
    barrier = threading.Barrier(10)
    statuses: list[int] = []

    def ask() -> None:
        barrier.wait(10)
        answer = httpx.request(method, panel.url + path, headers=HEADERS, json=body)
        statuses.append(answer.status_code)

    threads = [threading.Thread(target=ask) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    return statuses
