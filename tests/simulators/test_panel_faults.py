"""Each way of failing: what the client meets, what was applied, what the book says."""

import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass

import httpx
import pytest

from infrastructure.simulators.panel.book import BookedRequest
from infrastructure.simulators.panel.faults import (
    FAULT_NAMES,
    FAULTS,
    FaultError,
    FaultPlan,
    FaultRule,
    Rotation,
)
from infrastructure.simulators.panel.simulator import PanelSimulator
from infrastructure.simulators.panel.spoiling import BIG_BODY_BYTES
from tests.simulators.stage import HEADERS, Users, failure, response

BIRTH = {"username": "bob", "expireAt": "2030-01-01T00:00:00Z"}
NO_ANSWER = httpx.RemoteProtocolError
RESET = httpx.ReadError


@dataclass(frozen=True)
class Expected:
    name: str
    applied: bool
    status: int | None
    answered: bool
    error: type[httpx.TransportError] | None = None


TABLE = [
    Expected("latency", applied=True, status=201, answered=True),
    Expected("reset_before", applied=False, status=None, answered=False, error=RESET),
    Expected("reset_after", applied=True, status=None, answered=False, error=RESET),
    Expected(
        "close_before", applied=False, status=None, answered=False, error=NO_ANSWER
    ),
    Expected("close_after", applied=True, status=None, answered=False, error=NO_ANSWER),
    Expected("error_before", applied=False, status=502, answered=True),
    Expected("error_after", applied=True, status=502, answered=True),
    Expected("rate_limited", applied=False, status=429, answered=True),
    Expected("rate_limited_retry_after", applied=False, status=429, answered=True),
    Expected("unauthorized", applied=False, status=401, answered=True),
    Expected("forbidden", applied=False, status=403, answered=True),
    Expected("not_json", applied=False, status=200, answered=True),
    Expected("truncated_json", applied=True, status=201, answered=True),
    Expected("cut_body", applied=True, status=201, answered=False, error=NO_ANSWER),
    Expected("big_body", applied=True, status=201, answered=True),
    Expected("redirect", applied=False, status=302, answered=True),
    Expected("database_error", applied=False, status=500, answered=True),
]
HANGS = {"hang_before", "hang_after"}


def create(client: httpx.Client) -> httpx.Response:
    return client.post("/api/users", json=BIRTH)


def last(panel: PanelSimulator) -> BookedRequest:
    return panel.book()[-1]


def test_every_fault_is_in_the_table() -> None:
    assert {row.name for row in TABLE} | HANGS == set(FAULTS)


@pytest.mark.parametrize("expected", TABLE, ids=lambda row: row.name)
def test_a_fault_strikes_once(
    panel: PanelSimulator, client: httpx.Client, expected: Expected
) -> None:
    panel.faults.set(FaultRule(expected.name, times=1, ms=1))

    if expected.error is None:
        assert create(client).status_code == expected.status
    else:
        with pytest.raises(expected.error):
            create(client)

    row = last(panel)
    assert (row.fault, row.applied) == (expected.name, expected.applied)
    assert (row.status, row.answered) == (expected.status, expected.answered)
    assert len(panel.users()) == expected.applied
    assert client.get("/api/users").status_code == 200


@pytest.mark.parametrize("name", ["not_json", "truncated_json"])
def test_garbage_is_a_success_that_is_no_json(
    panel: PanelSimulator, client: httpx.Client, name: str
) -> None:
    panel.faults.set(FaultRule(name))

    answer = create(client)

    assert answer.is_success
    with pytest.raises(ValueError, match=r"Expecting|Unterminated"):
        answer.json()


def test_a_big_body_is_valid_and_longer_than_a_mebibyte(
    panel: PanelSimulator, client: httpx.Client
) -> None:
    panel.faults.set(FaultRule("big_body"))

    answer = create(client)

    assert len(answer.content) > BIG_BODY_BYTES
    assert response(answer)["username"] == "bob"


def test_retry_after_is_sent_where_it_is_said(
    panel: PanelSimulator, client: httpx.Client
) -> None:
    panel.faults.set(
        FaultRule("rate_limited", times=1),
        FaultRule("rate_limited_retry_after", retry_after=7),
    )

    assert "Retry-After" not in create(client).headers
    assert create(client).headers["Retry-After"] == "7"


def test_a_redirect_leads_elsewhere(
    panel: PanelSimulator, client: httpx.Client
) -> None:
    panel.faults.set(FaultRule("redirect"))

    assert client.get("/api/users").headers["Location"] == (
        "https://login.panel.invalid/api/users"
    )


def test_the_proxys_status_can_be_chosen(
    panel: PanelSimulator, client: httpx.Client
) -> None:
    panel.faults.set(FaultRule("error_before", status=503))

    assert create(client).status_code == 503


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        # remnawave.md 1 #10
        ("GET", "/api/users?size=1", "A024"),
        ("GET", "/api/users/stream", "A024"),
        ("GET", "/api/users/1", "A026"),
        ("GET", "/api/users/by-username/bob", "A026"),
        ("POST", "/api/users", "A018"),
        ("PATCH", "/api/users", "A039"),
        ("POST", "/api/users/1/actions/disable", "A028"),
        # of the catalogue: what the panel calls an error without a code of its own
        ("GET", "/api/internal-squads", "A001"),
        ("GET", "/api/subscriptions/by-id/1", "A001"),
    ],
)
def test_a_database_error_has_the_code_of_its_route(
    panel: PanelSimulator, client: httpx.Client, method: str, path: str, code: str
) -> None:
    panel.faults.set(FaultRule("database_error"))

    assert failure(client.request(method, path, json={})) == (500, code)
    assert last(panel).error_code == code


def test_the_metadata_survive_a_database_error(
    panel: PanelSimulator, client: httpx.Client
) -> None:
    """remnawave.md 1 #10: it is not a health probe."""
    panel.faults.set(FaultRule("database_error"))

    assert client.get("/api/system/metadata").status_code == 200
    assert last(panel).fault is None


@pytest.mark.parametrize("name", sorted(HANGS))
def test_a_hang_that_never_ends(
    panel: PanelSimulator, client: httpx.Client, name: str
) -> None:
    panel.faults.set(FaultRule(name, times=1))

    with pytest.raises(httpx.ReadTimeout):
        client.post("/api/users", json=BIRTH, timeout=0.3)
    panel.close()

    row = last(panel)
    assert (row.fault, row.status is None) == (name, name == "hang_before")
    assert (row.applied, row.answered) == (name == "hang_after", False)


@pytest.mark.parametrize("name", sorted(HANGS))
def test_a_hang_that_ends_answers(
    panel: PanelSimulator, client: httpx.Client, name: str
) -> None:
    panel.faults.set(FaultRule(name, seconds=0.05))

    assert create(client).status_code == 201
    panel.close()  # the book is corrected behind the answer

    row = last(panel)
    assert (row.fault, row.applied, row.answered) == (name, True, True)


def test_latency_delays_every_request(
    panel: PanelSimulator, client: httpx.Client
) -> None:
    panel.faults.set(latency_ms=50)
    began_at = time.monotonic()

    create(client)

    assert time.monotonic() - began_at >= 0.05
    assert last(panel).fault is None


def test_a_reset_is_a_reset_and_a_close_is_a_close(panel: PanelSimulator) -> None:
    """RST tells a crash of the machine between, FIN with 0 bytes a refusal."""
    head = "".join(f"{name}: {value}\r\n" for name, value in HEADERS.items())
    request = f"GET /api/users HTTP/1.1\r\n{head}\r\n".encode()

    panel.faults.set(FaultRule("close_before"))
    with socket.create_connection(("127.0.0.1", panel.port), timeout=10) as line:
        line.sendall(request)
        assert line.recv(1) == b""

    panel.faults.set(FaultRule("reset_before"))
    with socket.create_connection(("127.0.0.1", panel.port), timeout=10) as line:
        line.sendall(request)
        with pytest.raises(ConnectionResetError):
            line.recv(1)


def test_a_rule_names_methods_and_paths(users: Users) -> None:
    born = users.born()
    users.panel.faults.set(
        FaultRule("error_before", methods=("POST",), path_prefix="/api/users/1/actions")
    )

    assert users.client.post("/api/users/resolve", json={"id": 1}).status_code == 200
    assert users.get(born["id"]) == born
    assert users.act(born["id"], "disable").status_code == 502


def test_every_nth_request(panel: PanelSimulator, client: httpx.Client) -> None:
    panel.faults.set(FaultRule("error_before", every=3))

    statuses = [client.get("/api/users").status_code for _ in range(7)]

    assert statuses == [200, 200, 502, 200, 200, 502, 200]


def struck(plan: FaultPlan, requests: int) -> Iterator[str | None]:
    for _ in range(requests):
        fault = plan.choose("GET", "/api/users")
        yield fault.name if fault else None


def test_the_rotation_takes_each_fault_in_turn_and_repeats() -> None:
    plan = FaultPlan()
    plan.set(rotation=Rotation(rate=0.03, seed=7))
    first = list(struck(plan, 10_000))
    plan.set(rotation=Rotation(rate=0.03, seed=7))
    second = list(struck(plan, 10_000))
    plan.set(rotation=Rotation(rate=0.03, seed=8))
    other = list(struck(plan, 10_000))

    names = [name for name in first if name]
    rounds = -(-len(names) // len(FAULT_NAMES))
    assert 250 < len(names) < 350
    assert names == [*FAULT_NAMES * rounds][: len(names)]
    assert first == second != other


@pytest.mark.parametrize(
    "document",
    [
        {"rules": [{"name": "earthquake"}]},
        {"rules": [{"name": "latency", "probability": 2}]},
        {"rules": [{"name": "latency", "every": 0}]},
        {"rules": [{"name": "latency", "colour": "red"}]},
        {"rotation": {"rate": 2}},
        {"rotation": {"rate": 0.1, "names": []}},
        {"rotation": {"rate": 0.1, "names": ["earthquake"]}},
        {"latency_ms": "slow"},
        {"faults": []},
        [],
    ],
)
def test_nonsense_is_refused_and_leaves_what_was_in_force(document: object) -> None:
    plan = FaultPlan()
    plan.set(FaultRule("latency"))

    with pytest.raises(FaultError):
        plan.configure(document)

    assert list(struck(plan, 2)) == ["latency", "latency"]
