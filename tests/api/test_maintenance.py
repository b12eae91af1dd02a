"""`maintenance`: what it says to a person and to a machine, and what is on record.

Run inside this process: tests of other commands show that processes work too.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from api.cli.app import run
from infrastructure.bootstrap import Composition
from tests.fixtures.database import TestDatabase
from tests.operators.world import SERVED, World, bring

pytestmark = [pytest.mark.database, pytest.mark.usefixtures("heads_equal_folds")]

REASON = ("--reason", "the panel moves")
NOTICES = ("--notice-ru", "Идут работы", "--notice-en", "We are at work")


@dataclass(frozen=True)
class Told:
    """What one command said."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:  # noqa: ANN401 - JSON
        return json.loads(self.out)

    def complaint(self) -> str:
        (line,) = self.err.splitlines()
        assert line.startswith("error: "), self.err
        assert self.out == ""
        return line.removeprefix("error: ")


type Maintenance = Callable[..., Told]


@pytest.fixture
def maintenance(
    database: TestDatabase,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Maintenance:
    def ask(*arguments: str, who: str = "ann") -> Told:
        monkeypatch.setenv("COUNTERFOIL_OPERATOR", who)
        place = Composition({"COUNTERFOIL_DATABASE_URL": database.url})
        code = run(place, ["maintenance", *arguments])
        said = capsys.readouterr()
        return Told(code, said.out, said.err)

    return ask


def open_(maintenance: Maintenance, *more: str, who: str = "ann") -> Told:
    return maintenance("open", *REASON, *NOTICES, *more, who=who)


def close(maintenance: Maintenance, *more: str) -> Told:
    return maintenance("close", "--reason", "it is back", *more)


def test_a_window_is_opened_shown_and_closed(maintenance: Maintenance) -> None:
    before = maintenance()
    opened = open_(maintenance, "--expected-return", "2999-01-01T00:00:00Z")
    shown = maintenance()
    closed = close(maintenance)

    assert before.out == "no maintenance: every gate is open\n"
    assert opened.out.startswith("the panel is closed for maintenance: window ")
    assert "the panel is closed since " in shown.out
    assert ", by ann\n    why: the panel moves\n" in shown.out
    assert "    return: expected 2999-01-01 00:00:00.000Z, in " in shown.out
    assert "    ru: Идут работы\n    en: We are at work\n" in shown.out
    assert "every gate is open: what has waited goes on within a minute" in closed.out
    assert maintenance().out == before.out


def test_a_machine_gets_the_same_as_documents(maintenance: Maintenance) -> None:
    opened = open_(maintenance, "--json").document
    shown = maintenance("--json").document
    closed = close(maintenance, "--json").document

    assert opened["events"] == ["maintenance.opened"]
    assert opened["windows"] == [
        {
            "windowId": opened["windowId"],
            "scope": "panel",
            "openedBy": "ann",
            "openedAt": opened["windows"][0]["openedAt"],
        }
    ]
    (window,) = shown["windows"]
    assert window["windowId"] == opened["windowId"]
    assert (window["source"], window["expectedReturn"]) == ("manual", None)
    assert closed["events"] == ["maintenance.closed"]
    assert closed["windows"] == []


def test_how_many_jobs_wait_is_told(maintenance: Maintenance, world: World) -> None:
    open_(maintenance)
    nobody = maintenance().out.splitlines()[-1]
    bring(world, "held", SERVED)
    one = maintenance().out.splitlines()[-1]
    bring(world, "held", SERVED)
    two = maintenance("--json").document
    close(maintenance)
    after = maintenance()

    assert nobody == "0 jobs wait for the end of maintenance"
    assert one == "1 job waits for the end of maintenance"
    assert (two["heldJobs"], two["liveWorkers"]) == (2, 0)
    assert after.out.splitlines() == [
        "no maintenance: every gate is open",
        "2 jobs that waited are about to be made due",
    ]
    assert "no worker is alive" in after.err


def test_twice_is_told_as_so_already(maintenance: Maintenance) -> None:
    open_(maintenance)
    again = open_(maintenance, who="bob")
    close(maintenance)
    twice = close(maintenance)

    assert again.code == twice.code == 0
    assert again.out.startswith("nothing to do: it is so already\nthe panel stays")
    assert again.out.endswith(", by ann\n")
    assert twice.out == "nothing to do: no window of scope panel is open\n"


def test_another_operator_is_told_who_opened_it_and_when(
    maintenance: Maintenance, world: World
) -> None:
    open_(maintenance)
    result = maintenance("open", "--reason", "mine", *NOTICES, who="bob")

    assert result.code == 1
    assert result.complaint().startswith("maintenance_open: scope panel has had window")
    assert "opened by ann with other words" in result.complaint()
    ((action, _, code, *_),) = world.refusals()
    assert (action, code) == ("open_maintenance", "maintenance_open")


def test_what_stays_closed_is_told(maintenance: Maintenance) -> None:
    open_(maintenance)
    open_(maintenance, "--scope", "all")

    closed = close(maintenance)

    first, second = closed.out.splitlines()
    assert first.startswith("the window is over: ")
    assert second.startswith("every gate stays closed: since ")


@pytest.mark.parametrize(
    "arguments",
    [
        ("open", *REASON, *NOTICES[:2]),
        ("open", *REASON, *NOTICES[2:]),
        ("open", *NOTICES),
        ("open", *NOTICES, "--reason", "no"),
        ("open", *NOTICES, "--reason", "x" * 201),
        ("open", *REASON, *NOTICES, "--scope", "goods"),
        ("close",),
        ("--json", "close", "--reason", "it is back"),
        ("reopen",),
    ],
)
def test_without_reason_and_both_notices_nothing_is_asked_for(
    maintenance: Maintenance, world: World, arguments: tuple[str, ...]
) -> None:
    result = maintenance(*arguments)

    assert result.code == 2
    assert "--help" in result.complaint()
    assert world.refusals() == []


def test_what_cannot_be_meant_is_told_in_one_sentence_and_recorded(
    maintenance: Maintenance, world: World
) -> None:
    past = open_(maintenance, "--expected-return", "2020-01-01T00:00:00Z")
    unreadable = open_(maintenance, "--expected-return", "soon")
    garbled = maintenance("open", *REASON, "--notice-ru", "ab\udcff", *NOTICES[2:])

    assert (past.code, unreadable.code, garbled.code) == (1, 1, 1)
    assert past.complaint().startswith("return_not_later: expectedReturn: ")
    assert "such as 2030-01-31T12:00:00Z" in unreadable.complaint()
    assert garbled.complaint().startswith("invalid_member: noticeRu: ")
    assert [row[2] for row in world.refusals()] == [
        "return_not_later",
        "invalid_member",
        "invalid_member",
    ]
