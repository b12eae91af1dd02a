"""Requests stopped before or after they are applied, in process and over HTTP."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import httpx
import pytest

from infrastructure.simulators.panel.simulator import PanelSimulator
from tests.simulators.stage import HEADERS, Users

BIRTH = {"username": "bob", "expireAt": "2030-01-01T00:00:00Z"}


@contextmanager
def asking(panel: PanelSimulator) -> Iterator[Callable[[], int | None]]:
    """Create bob from another thread; yield how to wait for the status, None: cut."""
    statuses: list[int | None] = []

    def ask() -> None:
        try:
            answer = httpx.post(
                f"{panel.url}/api/users",
                json=BIRTH,
                headers={**HEADERS, "X-Request-ID": "op.1.1"},
                timeout=20,
            )
            statuses.append(answer.status_code)
        except httpx.TransportError:
            statuses.append(None)

    def status() -> int | None:
        thread.join(20)
        return statuses[0]

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield status
    finally:
        thread.join(20)


def test_a_request_stands_before_it_is_applied(panel: PanelSimulator) -> None:
    hold = panel.hold("POST", "/api/users", when="before")

    with asking(panel) as status:
        held = hold.wait_arrived()
        [row] = panel.book()

        assert (held.seq, held.request_id) == (row.seq, "op.1.1")
        assert (row.applied, row.answered, row.status) == (False, False, None)
        assert panel.users() == []

        hold.release()
        assert status() == 201

    panel.close()
    [row] = panel.book()
    assert (row.applied, row.answered, row.status) == (True, True, 201)


def test_a_request_stands_after_it_is_applied(panel: PanelSimulator) -> None:
    hold = panel.hold("POST", "/api/users", when="after")

    with asking(panel) as status:
        hold.wait_arrived()
        [row] = panel.book()

        assert (row.applied, row.answered, row.status) == (True, False, 201)
        assert [user.username for user in panel.users()] == ["bob"]

        hold.release()
        assert status() == 201

    panel.close()
    assert panel.book()[0].answered


@pytest.mark.parametrize(("when", "applied"), [("before", False), ("after", True)])
def test_a_dropped_request_ends_without_an_answer(
    panel: PanelSimulator,
    when: str,
    applied: bool,  # noqa: FBT001 - a table's column
) -> None:
    hold = panel.hold("POST", "/api/users", "before" if when == "before" else "after")

    with asking(panel) as status:
        hold.wait_arrived()
        hold.release(drop=True)
        assert status() is None

    [row] = panel.book()
    assert (row.applied, row.answered) == (applied, False)


def test_a_hold_catches_one_request_of_its_kind(
    panel: PanelSimulator, users: Users
) -> None:
    users.born("eve")
    hold = panel.hold("POST", "/api/users", when="after")

    users.get(1)
    with asking(panel) as status:
        hold.wait_arrived()
        users.born("max")  # a later one passes
        hold.release()
        assert status() == 201


def test_a_hold_that_nothing_reaches_says_so(panel: PanelSimulator) -> None:
    hold = panel.hold("POST", "/api/users", when="after")

    with pytest.raises(TimeoutError, match="POST /api/users"):
        hold.wait_arrived(timeout_s=0.01)


def test_a_panel_that_closes_drops_what_it_holds(panel: PanelSimulator) -> None:
    hold = panel.hold("POST", "/api/users", when="before")

    with asking(panel) as status:
        hold.wait_arrived()
        panel.close()
        assert status() is None

    assert panel.users() == []


def test_holds_are_set_and_released_over_http(panel: PanelSimulator) -> None:
    with httpx.Client(base_url=f"{panel.url}/_simulator", timeout=20) as control:
        wanted = {"method": "POST", "path_prefix": "/api/users", "when": "after"}
        hold = control.post("/hold", json=wanted).json()["hold"]
        nothing = control.get(f"/held?hold={hold}&timeout_s=0.01").json()

        with asking(panel) as status:
            held = control.get(f"/held?hold={hold}&timeout_s=10").json()["held"]
            released = control.post("/release", json={"hold": hold}).json()
            assert status() == 201

    assert nothing == {"held": None}
    assert held == {
        "seq": 1,
        "method": "POST",
        "path": "/api/users",
        "request_id": "op.1.1",
    }
    assert released == {"released": hold}


def test_faults_and_traffic_are_switched_over_http(
    panel: PanelSimulator, users: Users
) -> None:
    born = users.born()
    with httpx.Client(base_url=f"{panel.url}/_simulator") as control:
        plan = {
            "rules": [{"name": "error_before", "methods": ["PATCH"], "times": 1}],
            "rotation": {"rate": 0.0, "names": ["latency"], "seed": 3},
        }
        control.post("/faults", json=plan).raise_for_status()
        assert users.patch(id=born["id"]).status_code == 502
        assert users.patch(id=born["id"]).status_code == 200
        described = control.get("/faults").json()
        again = control.post(
            "/faults",
            json={
                name: described[name] for name in ("rules", "rotation", "latency_ms")
            },
        )
        control.post("/traffic", json={"id": born["id"], "usedTrafficBytes": 7})
        health = control.get("/health").json()

    assert described["struck"] == {"error_before": 1}
    assert described["rules"][0]["struck"] == 1
    assert described["rotation"] == plan["rotation"]
    assert again.status_code == 200
    assert users.get(born["id"])["userTraffic"]["usedTrafficBytes"] == 7
    assert health == {"status": "ok", "requests": 3, "users": 1}


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/faults", {"rules": [{"name": "earthquake"}]}, 400),
        ("POST", "/faults", [], 400),
        ("POST", "/hold", {"method": "POST"}, 400),
        ("POST", "/hold", {"method": "X", "path_prefix": "/", "when": "now"}, 400),
        ("POST", "/release", {"hold": 9}, 400),
        ("GET", "/held?hold=9", None, 400),
        ("POST", "/traffic", {"id": 9, "usedTrafficBytes": 1}, 400),
        ("POST", "/outage", {"redis": "asleep"}, 400),
        ("POST", "/lock", {}, 400),
        ("POST", "/unlock", {"id": "x"}, 400),
        ("GET", "/nowhere", None, 404),
    ],
)
def test_nonsense_is_refused_and_never_booked(
    panel: PanelSimulator, method: str, path: str, body: object, status: int
) -> None:
    answer = httpx.request(method, f"{panel.url}/_simulator{path}", json=body)

    assert answer.status_code == status
    assert panel.book() == []
