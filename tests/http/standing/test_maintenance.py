"""Maintenance over HTTP: said in two languages, by somebody, and taken back."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from api.http.surface import Surface
from tests.fixtures.http import Api
from tests.http.test_skeleton import problem

pytestmark = pytest.mark.database

PATHS = {Surface.ADMIN: "/maintenance", Surface.PANEL: "/overview/maintenance"}
BOTH = pytest.mark.parametrize("surface", PATHS)
WORDS = {"active": True, "noticeRu": "Идут работы", "noticeEn": "Maintenance"}


def said(surface: Surface, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - members
    who = {"operatorId": "anna"} if surface is Surface.ADMIN else {}
    return WORDS | who | more


@BOTH
def test_it_is_closed_shown_and_opened(surface: Surface, api: Api) -> None:
    ann, path = api.client(surface), PATHS[surface]
    back = (datetime.now(UTC) + timedelta(hours=2)).strftime("%Y-%m-%dT%H:%M:%SZ")
    assert ann.get(path).json()["active"] is False

    closed = ann.put(path, json=said(surface, expectedReturnAt=back))

    assert closed.status_code == 200
    assert closed.json()["events"] == ["maintenance.opened"]
    told = ann.get(path).json()
    (window,) = told["windows"]
    assert told["active"]
    assert (window["scope"], window["source"]) == ("panel", "manual")
    assert window["noticeRu"] == "Идут работы"
    assert window["reason"] == "the customer asked"
    assert window["expectedReturnAt"].startswith(back[:-1])
    opened = ann.put(path, json=said(surface, active=False)).json()
    assert (opened["active"], opened["events"]) == (False, ["maintenance.closed"])


def test_a_program_says_who_decides(api: Api) -> None:
    ops = api.client(name="ops")

    told = problem(ops.put("/maintenance", json=WORDS))
    assert (told["status"], told["code"]) == (400, "missing_operator")
    ops.put("/maintenance", json=WORDS | {"operatorId": "anna", "reason": "it moves"})
    (window,) = ops.get("/maintenance").json()["windows"]
    assert window["openedBy"].endswith(":anna")
    assert window["openedBy"].startswith("token:")
    assert window["reason"] == "it moves"


@BOTH
@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("noticeRu", None),
        ("noticeEn", " "),
        ("scope", "shop"),
        ("expectedReturnAt", "2020-01-01T00:00:00Z"),
        ("expectedReturnAt", "tomorrow"),
    ],
)
def test_what_makes_no_window_is_rejected_with_its_member(
    surface: Surface, member: str, value: str | None, api: Api
) -> None:
    body = said(surface, **{member: value})

    told = problem(api.client(surface).put(PATHS[surface], json=body))

    assert (told["status"], told["code"]) == (422, "maintenance_rejected")
    errors: Any = told["errors"]
    assert [each["pointer"] for each in errors] == [f"#/{member}"]


@BOTH
def test_other_words_wait_until_it_is_opened(surface: Surface, api: Api) -> None:
    ann, path = api.client(surface), PATHS[surface]
    ann.put(path, json=said(surface))

    same = ann.put(path, json=said(surface))
    other = ann.put(path, json=said(surface, noticeEn="Other words"))

    assert (same.status_code, same.json()["events"]) == (200, [])
    assert problem(other)["code"] == "maintenance_open"


def test_it_is_the_whole_installations(api: Api) -> None:
    stranger = api.client(tenant="shop")

    assert stranger.get("/maintenance").status_code == 404
