"""The durable book: what it says, and that it outlives its panel."""

import ast
import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from infrastructure.simulators import panel as package
from infrastructure.simulators.panel.book import (
    BookedRequest,
    applied_writes,
    open_book,
    requests,
    users,
)
from infrastructure.simulators.panel.faults import FAULT_NAMES, FaultRule, Rotation
from infrastructure.simulators.panel.simulator import PanelSimulator
from infrastructure.simulators.panel.store import BODY_CHARACTERS, BookInUseError
from tests.simulators.stage import ALPHA, FUTURE, HEADERS, NOON, SQUADS, TOKEN, Users

ROOT = Path(__file__).parents[2]
PROGRAM = """
import sys
from pathlib import Path
from infrastructure.simulators.panel.main import serve
serve(port=0, book=Path(sys.argv[1]), token=sys.argv[2], fault_rate=float(sys.argv[3]),
      fault_names=("error_after",), ready=lambda port: print(port, flush=True))
"""


@contextlib.contextmanager
def running(
    book: Path, fault_rate: float = 0.0
) -> Iterator[tuple[subprocess.Popen[str], httpx.Client]]:
    """Run a panel in a process of its own, killed at the end if it still lives."""
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(book), TOKEN, str(fault_rate)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            port = int(process.stdout.readline())
            base_url = f"http://127.0.0.1:{port}"
            with httpx.Client(base_url=base_url, headers=HEADERS) as client:
                yield process, client
        finally:
            process.kill()


def birth(name: str) -> dict[str, object]:
    return {"username": name, "expireAt": FUTURE}


def test_a_row_tells_who_asked_what_and_what_came_of_it(users: Users) -> None:
    body = {**birth("bob"), "trafficLimitBytes": 5, "activeInternalSquads": [ALPHA]}
    users.client.post("/api/users", json=body, headers={"X-Request-ID": "op.1.1"})
    users.clock.now += 1
    users.client.patch("/api/users?x=1", json={"username": "bob", "hwidDeviceLimit": 3})
    users.client.delete("/api/users/1")

    born, patched, deleted = users.panel.book()

    sold = {
        "status": "ACTIVE",
        "expireAt": FUTURE,
        "trafficLimitBytes": 5,
        "hwidDeviceLimit": None,
        "activeInternalSquads": [ALPHA],
    }
    assert (born.seq, born.received_at, born.request_id) == (1, NOON, "op.1.1")
    assert (born.method, born.path) == ("POST", "/api/users")
    assert '"trafficLimitBytes":5' in born.body
    assert (born.user_id, born.username) == (1, "bob")
    assert (born.status, born.error_code, born.applied) == (201, None, True)
    assert born.effect == {"before": None, "after": sold}
    assert (born.fault, born.answered) == (None, True)

    limited = {**sold, "hwidDeviceLimit": 3}
    assert (patched.path, patched.request_id) == ("/api/users?x=1", None)
    assert patched.received_at == NOON + 1
    assert (patched.user_id, patched.username) == (1, "bob")
    assert patched.effect == {"before": sold, "after": limited}

    assert (deleted.status, deleted.user_id) == (204, 1)
    assert deleted.effect == {"before": limited, "after": None}


def test_a_row_tells_when_a_request_came_and_when_its_answer_left(
    users: Users,
) -> None:
    users.born()
    users.panel.faults.set(FaultRule("hang_after", methods=("PATCH",), seconds=0.05))
    hold = users.panel.hold("DELETE", "/api/users", when="before")
    with ThreadPoolExecutor() as elsewhere:
        users.patch(id=1, hwidDeviceLimit=3)
        deleted = elsewhere.submit(users.client.delete, "/api/users/1")
        hold.wait_arrived()
        assert users.panel.book()[-1].ended_ns is None
        users.client.get("/api/users/1")
        hold.release()
        deleted.result()
    users.panel.close()

    born, patched, removed, seen = users.panel.book()

    assert began(born) < ended(born) < began(patched)
    assert began(patched) + 50_000_000 <= ended(patched) < began(removed)
    assert began(removed) < began(seen) < ended(seen) < ended(removed)


def began(row: BookedRequest) -> int:
    assert row.began_ns is not None
    return row.began_ns


def ended(row: BookedRequest) -> int:
    assert row.ended_ns is not None
    return row.ended_ns


def test_a_book_of_an_earlier_version_is_gone_on_with(book: Path) -> None:
    with PanelSimulator(book=book, token=TOKEN):
        pass
    with contextlib.closing(sqlite3.connect(book)) as earlier:
        earlier.execute("ALTER TABLE requests DROP COLUMN began_ns")
        earlier.execute("ALTER TABLE requests DROP COLUMN ended_ns")
        earlier.execute(
            """
            INSERT INTO requests (received_at, method, path, body, applied, answered)
            VALUES (1, 'GET', '/api/users', '', 0, 1)
            """
        )
        earlier.commit()

    with PanelSimulator(book=book, token=TOKEN) as panel:
        httpx.get(f"{panel.url}/api/users", headers=HEADERS, trust_env=False)
        old, new = panel.book()

    assert (old.began_ns, old.ended_ns) == (None, None)
    assert began(new) < ended(new)


@pytest.mark.parametrize(
    ("members", "applied"),
    [
        ({"hwidDeviceLimit": None}, True),  # the same value: updatedAt moves
        ({"status": "ACTIVE"}, True),
        ({"activeInternalSquads": [ALPHA]}, True),
        ({"activeInternalSquads": []}, False),
        ({}, False),
    ],
)
def test_a_write_counts_as_applied_when_a_column_is_written(
    users: Users,
    members: dict[str, object],
    applied: bool,  # noqa: FBT001 - a table's column
) -> None:
    born = users.born()

    users.patch(id=born["id"], **members)

    row = users.panel.book()[-1]
    assert (row.applied, row.effect is not None) == (applied, applied)


@pytest.mark.parametrize(
    ("method", "path", "body", "named"),
    [
        ("GET", "/api/users/7", "", (7, None)),
        ("GET", "/api/users/by-username/eve", "", (None, "eve")),
        ("PATCH", "/api/users", '{"id":7,"username":"eve"}', (7, "eve")),
        ("POST", "/api/users", '{"username":"\\ud800"}', (None, "?")),
        ("PATCH", "/api/users", '{"id":1180591620717411303424}', (None, None)),
        ("GET", "/api/users/99999999999999999999999", "", (None, None)),
        ("GET", "/api/users", "", (None, None)),
    ],
)
def test_a_row_names_whom_the_request_names(
    users: Users,
    method: str,
    path: str,
    body: str,
    named: tuple[int | None, str | None],
) -> None:
    users.client.request(
        method, path, content=body, headers={"Content-Type": "application/json"}
    )

    [row] = users.panel.book()
    assert (row.user_id, row.username) == named
    assert not row.applied


def test_a_body_is_cut_and_may_be_any_bytes(
    panel: PanelSimulator, client: httpx.Client
) -> None:
    client.post("/api/users", content=b"\xff\0" + b"x" * BODY_CHARACTERS)

    [row] = panel.book()
    assert len(row.body) == BODY_CHARACTERS
    assert row.body.startswith("\ufffd\0x")


def test_the_readers_see_a_running_panel(
    panel: PanelSimulator, users: Users, book: Path
) -> None:
    users.born("bob", trafficLimitBytes=5, activeInternalSquads=[ALPHA])
    users.get(1)

    with contextlib.closing(open_book(book)) as opened:
        assert [row.seq for row in applied_writes(opened)] == [1]
        assert [row.seq for row in requests(opened, after=1)] == [2]
        assert panel.users()[0] == (1, "bob", "ACTIVE", FUTURE, 5, None, (ALPHA,))
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            opened.execute("DELETE FROM requests")


def test_the_users_are_the_last_effects_whatever_went_wrong(users: Users) -> None:
    """An auditor may check either table against the other."""
    names = tuple(name for name in FAULT_NAMES if not name.startswith("hang"))
    users.panel.faults.set(rotation=Rotation(rate=0.5, names=names, seed=1))
    for number in range(200):
        users.clock.now += 1
        with contextlib.suppress(httpx.TransportError):
            if number % 3 == 0:
                users.client.post("/api/users", json=birth(f"user_{number}"))
            else:
                users.patch(id=number // 6, trafficLimitBytes=number)

    last_effect: dict[int | None, object] = {}
    for row in users.panel.book():
        if row.effect is not None:
            assert row.effect["before"] == last_effect.get(row.user_id)
            last_effect[row.user_id] = row.effect["after"]
    assert last_effect == {
        user.id: {
            "status": user.status,
            "expireAt": user.expire_at,
            "trafficLimitBytes": user.traffic_limit_bytes,
            "hwidDeviceLimit": user.hwid_device_limit,
            "activeInternalSquads": list(user.squads),
        }
        for user in users.panel.users()
    }
    assert {row.fault for row in users.panel.book()} == {None, *names}


def test_state_survives_a_restart(users: Users, book: Path) -> None:
    born = users.born(trafficLimitBytes=5, activeInternalSquads=[ALPHA], tag="T")
    users.born("eve")
    users.client.delete("/api/users/2")
    users.panel.close()

    with PanelSimulator(book=book, token=TOKEN, squads=SQUADS) as again:
        found = httpx.get(f"{again.url}/api/users/1", headers=HEADERS)
        next_born = httpx.post(
            f"{again.url}/api/users", json=birth("max"), headers=HEADERS
        )

    assert found.json()["response"] == born
    assert next_born.json()["response"]["id"] == 3
    assert [row.seq for row in again.book()] == [1, 2, 3, 4, 5]


def test_one_book_has_one_panel(panel: PanelSimulator, book: Path) -> None:
    assert panel.port
    with pytest.raises(BookInUseError):
        PanelSimulator(book=book, token=TOKEN)


def test_a_taken_port_lets_go_of_the_book(
    panel: PanelSimulator, tmp_path: Path
) -> None:
    for _ in range(2):
        with pytest.raises(OSError, match="in use"):
            PanelSimulator(book=tmp_path / "other", token=TOKEN, port=panel.port)


@pytest.mark.crash
def test_every_answered_request_survives_sigkill(book: Path) -> None:
    """State and book commit before the answer leaves, so nothing answered is lost."""
    answered: list[str] = []
    for life in range(3):
        with running(book) as (process, client):
            for number in range(50):
                name = f"user_{life}_{number}"
                answer = client.post("/api/users", json=birth(name))
                assert answer.status_code == 201
                answered.append(name)
            process.kill()

    with contextlib.closing(open_book(book)) as opened:
        assert [user.username for user in users(opened)] == answered
        assert [row.username for row in applied_writes(opened)] == answered
        assert [row.seq for row in requests(opened)] == [*range(1, 151)]


@pytest.mark.crash
def test_a_held_request_of_a_killed_panel_is_in_the_book(book: Path) -> None:
    with running(book) as (process, client):
        wanted = {"method": "POST", "path_prefix": "/api/users", "when": "after"}
        client.post("/_simulator/hold", json=wanted)
        with pytest.raises(httpx.ReadTimeout):
            client.post("/api/users", json=birth("bob"), timeout=0.3)
        assert client.get("/_simulator/held?hold=1").json()["held"]
        process.kill()

    with contextlib.closing(open_book(book)) as opened:
        [row] = requests(opened)
    assert (row.applied, row.answered, row.status) == (True, False, 201)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_program_stops_cleanly_when_asked(book: Path, number: int) -> None:
    with running(book, fault_rate=1.0) as (process, client):
        status = client.post("/api/users", json=birth("bob")).status_code
        os.kill(process.pid, number)
        assert process.wait(10) == 0

    with contextlib.closing(open_book(book)) as opened:
        [row] = requests(opened)
    assert (status, row.fault, row.applied) == (502, "error_after", True)


def test_the_simulator_is_written_with_the_standard_library_alone() -> None:
    """It shares nothing with the adapter that it proves."""
    folder = Path(package.__path__[0])
    imported = {
        name.split(".")[0]
        for file in folder.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }

    assert imported <= {*sys.stdlib_module_names, "infrastructure"}
