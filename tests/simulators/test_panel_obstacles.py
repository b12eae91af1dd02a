"""What stands in a request's way: how it is put there, waited for and cleared.

What the panel answers meanwhile is in facts/cases/outages.py and tokens.py.
"""

import json
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from infrastructure.simulators.panel.backing.obstacles import Obstacles
from infrastructure.simulators.panel.backing.tokens import Tokens, signed
from infrastructure.simulators.panel.simulator import PanelSimulator
from tests.simulators.stage import (
    HEADERS,
    PAST,
    SQUADS,
    TOKEN,
    SetClock,
    Users,
    failure,
    response,
)


@contextmanager
def control_of(panel: PanelSimulator) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=f"{panel.url}/_simulator") as control:
        yield control


def test_an_outage_is_made_and_ended_over_http(
    panel: PanelSimulator, users: Users
) -> None:
    born = users.born()
    with control_of(panel) as control:
        told = control.post("/outage", json={"database_down": True, "redis": "frozen"})
        during = users.client.get("/api/users/1")
        over = control.post("/outage", json={})
        after = users.client.get("/api/users/1")

    assert told.json() == {"database_down": True, "redis": "frozen"}
    assert failure(during) == (500, "A026")
    assert over.json() == {"database_down": False, "redis": "up"}
    assert response(after) == born


def test_a_row_is_locked_and_unlocked_over_http(
    panel: PanelSimulator, users: Users
) -> None:
    born = users.born()
    with control_of(panel) as control, ThreadPoolExecutor(1) as thread:
        control.post("/lock", json={"id": born["id"]}).raise_for_status()
        asked = thread.submit(users.patch, id=born["id"], tag="T")
        panel.wait_obstructed()
        other = users.born("eve")
        control.post("/unlock", json={"id": born["id"]}).raise_for_status()
        answer = asked.result(10)

    assert response(answer)["tag"] == "T"
    assert other["username"] == "eve"  # nobody else waits
    rows = panel.book()
    assert [row.method for row in rows] == ["POST", "POST", "PATCH"]


def test_a_request_that_waited_is_booked_as_answered(
    panel: PanelSimulator, users: Users
) -> None:
    born = users.born()
    panel.lock_row(born["id"])
    with ThreadPoolExecutor(1) as thread:
        asked = thread.submit(users.act, born["id"], "disable")
        panel.wait_obstructed()
        panel.unlock_row(born["id"])
        assert asked.result(10).status_code == 200
    panel.close()  # the book is corrected behind the answer

    row = panel.book()[-1]
    assert (row.applied, row.answered, row.fault) == (True, True, None)


def test_who_waits_for_nothing_is_told(panel: PanelSimulator) -> None:
    with pytest.raises(TimeoutError, match="no request waits"):
        panel.wait_obstructed(timeout_s=0.01)


def test_validation_needs_no_database(panel: PanelSimulator, users: Users) -> None:
    users.born()
    panel.set_outage(database_down=True)

    assert failure(users.patch(id=1, expireAt=PAST)) == (400, None)
    assert failure(users.client.get("/api/users/1.5")) == (500, None)
    assert failure(users.patch(id=77)) == (500, "A039")  # it cannot know


def test_a_pass_that_an_outage_swallowed_is_not_made_up_for(
    panel: PanelSimulator, users: Users, clock: SetClock
) -> None:
    born = users.born(expireAt=PAST)
    panel.set_outage(database_down=True)
    clock.now += 25_000
    panel.pass_time()
    panel.set_outage()

    assert users.get(born["id"])["status"] == "ACTIVE"

    clock.now += 30_000

    assert users.get(born["id"])["status"] == "EXPIRED"


def test_devices_survive_a_restart(users: Users, book: Path) -> None:
    born = users.born()
    body = {"userId": born["id"], "hwid": "d1", "platform": "iOS"}
    users.client.post("/api/hwid/devices", json=body)
    users.panel.close()

    with PanelSimulator(book=book, token=TOKEN, squads=SQUADS) as again:
        found = httpx.get(f"{again.url}/api/hwid/devices/1", headers=HEADERS)

    [device] = response(found)["devices"]
    assert (device["hwid"], device["platform"], device["userId"]) == ("d1", "iOS", 1)


def test_a_book_from_before_there_were_devices_opens(users: Users, book: Path) -> None:
    born = users.born()
    users.panel.close()
    with closing(sqlite3.connect(book)) as db, db:
        [(document,)] = db.execute("SELECT document FROM users").fetchall()
        old = json.loads(document)
        del old["devices"]
        db.execute("UPDATE users SET document = ?", (json.dumps(old),))

    with PanelSimulator(book=book, token=TOKEN, squads=SQUADS) as again:
        found = httpx.get(f"{again.url}/api/users/1", headers=HEADERS)

    assert response(found) == born


@pytest.mark.parametrize(
    ("path", "body", "expected"),
    [
        ("", {"userId": 1}, (400, None)),
        ("", {"userId": 77, "hwid": "d"}, (404, "A025")),
        ("/delete", {"hwid": "d"}, (400, None)),
        ("/delete-all", {"userId": "1"}, (400, None)),
        ("/delete-all", {"userId": 1.5}, (500, "A001")),
    ],
)
def test_what_is_no_device(
    users: Users, path: str, body: object, expected: tuple[int, str | None]
) -> None:
    users.born()

    assert failure(users.client.post(f"/api/hwid/devices{path}", json=body)) == expected


def test_a_link_of_nobody_is_no_route(users: Users) -> None:
    assert failure(users.client.get("/api/sub/nobody")) == (404, None)


def status_of(tokens: Tokens, header: str) -> int | None:
    refusal = tokens.refusal(
        {"authorization": header}, frozenset({"users:list"}), 0, Obstacles(), 0
    )
    return refusal.status if refusal else None


@given(st.text())
def test_any_other_text_is_no_token(text: str) -> None:
    tokens = Tokens(TOKEN)

    assert status_of(tokens, f"Bearer {text}{TOKEN}x") == 401
    assert status_of(tokens, text) == 401


@given(st.text(), st.integers(min_value=1), st.binary(min_size=1, max_size=40))
def test_only_our_signature_counts(name: str, expires: int, key: bytes) -> None:
    tokens = Tokens(TOKEN)
    claims = {"uuid": name, "exp": expires}
    ours, theirs = signed(claims), signed(claims, b"not ours" + key)

    assert status_of(tokens, f"Bearer {ours}") == 403
    assert status_of(tokens, f"Bearer {theirs}") == 401
    assert status_of(tokens, f"Bearer {ours[:-1]}") == 401
