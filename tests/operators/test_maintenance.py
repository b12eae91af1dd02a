"""Maintenance by hand: one open window a scope, whoever comes at once, on record."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest

from application.errors import WindowOpenError
from application.operators.instruction import instruct
from application.operators.maintenance import (
    Maintained,
    Maintenance,
    OpenWindow,
    Planned,
    Windows,
)
from domain.errors import InvalidRequestError
from infrastructure.ids import new_id
from infrastructure.postgres.windows import PostgresWindows
from tests.fixtures.database import TestDatabase
from tests.operators.world import World

pytestmark = [
    pytest.mark.database,
    pytest.mark.usefixtures("heads_equal_folds", "messages_equal_events"),
]

PLANNED = Planned(notice_ru="Идут работы", notice_en="We are at work")
TOGGLES = 60


class Desk:
    """Where operators open and close windows."""

    def __init__(self, world: World, windows: Windows) -> None:
        self._act = Maintenance(windows, world.units, new_id)

    def open(
        self,
        who: str = "ann",
        reason: str = "the panel moves",
        planned: Planned = PLANNED,
        **said: Any,  # noqa: ANN401 - members of Planned
    ) -> Maintained:
        members = {name: getattr(planned, name) for name in planned.__struct_fields__}
        return self._act.open(Planned(**members | said), instruct(who, reason))

    def close(self, scope: str = "panel", who: str = "bob") -> Maintained:
        return self._act.close(scope, instruct(who, "the panel is back"))


@pytest.fixture
def desk(world: World) -> Desk:
    return Desk(world, PostgresWindows(world.database))


def log(world: World) -> list[tuple[Any, ...]]:
    return world.connection.execute(
        """
        SELECT type, tenant_id, meta->'actor'->>'id', meta->>'reason',
               meta->>'correlation_id'
          FROM counterfoil.events WHERE type <> 'operator.action_taken'
         ORDER BY position
        """
    ).fetchall()


def gates(world: World) -> list[str]:
    rows = world.connection.execute("SELECT gate FROM counterfoil.gates ORDER BY gate")
    return [row[0] for row in rows]


def test_i9_opening_and_closing_name_who_and_why(world: World, desk: Desk) -> None:
    opened = desk.open()
    closed = desk.close()

    about = f"maintenance:{opened.window_id}"
    assert log(world) == [
        ("maintenance.opened", "default", "ann", "the panel moves", about),
        ("maintenance.closed", "default", "bob", "the panel is back", about),
    ]
    assert (opened.state, opened.events) == ("open", ("maintenance.opened",))
    assert (closed.state, closed.events) == ("closed", ("maintenance.closed",))
    assert closed.window_id == opened.window_id
    assert closed.position > opened.position > 0
    assert closed.windows == ()
    assert gates(world) == []


def test_the_same_once_more_writes_nothing_and_tells_who_was_first(
    world: World, desk: Desk, database: TestDatabase
) -> None:
    first = desk.open(expected_return="2999-01-01T00:00:00Z")
    database.advance(timedelta(days=400_000))

    again = desk.open("bob", expected_return="2999-01-01T01:00:00+01:00")

    assert (again.window_id, again.events) == (first.window_id, ())
    assert again.position > first.position
    assert [each.opened_by for each in again.windows] == ["ann"]
    assert len(log(world)) == 1
    opened, unchanged = world.taken()
    assert (opened[0], opened[4], opened[6]) == ("maintenance.opened", {}, "ann")
    assert opened[5]["maintenance"]["state"] == "open"
    assert (unchanged[0], unchanged[6]) == ("maintenance.opened", "bob")
    assert unchanged[4] == unchanged[5] == opened[5]


@pytest.mark.parametrize(
    "other",
    [
        {"reason": "another"},
        {"notice_ru": "Скоро вернёмся"},
        {"notice_en": "Back soon"},
        {"expected_return": "2999-01-01T00:00:00Z"},
    ],
)
def test_other_words_for_an_open_window_are_refused_and_on_record(
    world: World, desk: Desk, other: dict[str, Any]
) -> None:
    opened = desk.open()

    with pytest.raises(WindowOpenError, match="opened by ann") as refused:
        desk.open("bob", **other)

    assert refused.value.window == str(opened.window_id)
    assert refused.value.since[:2] == "20"
    ((action, target, code, _, who, _, _),) = world.refusals()
    assert (action, target) == ("open_maintenance", str(opened.window_id))
    assert (code, who) == ("maintenance_open", "bob")
    assert log(world)[-1][-1] == f"maintenance:{opened.window_id}"


def test_scopes_are_closed_and_opened_each_for_itself(world: World, desk: Desk) -> None:
    desk.open()
    desk.open(scope="all", notice_en="It takes longer")

    closed = desk.close("panel")

    assert [each.scope for each in closed.windows] == ["all"]
    assert gates(world) == ["all"]
    assert desk.close("all").windows == ()
    assert gates(world) == []


def test_what_is_not_open_is_closed_already(world: World, desk: Desk) -> None:
    never = desk.close()
    first = desk.open()
    desk.close()
    twice = desk.close()

    assert (never.window_id, never.state, never.events) == (None, "closed", ())
    assert (twice.window_id, twice.events) == (None, ())
    assert len(log(world)) == 2
    assert world.refusals() == []
    assert [(it[0], it[3].partition(":")[0]) for it in world.taken()] == [
        ("maintenance.closed", "maintenance"),
        ("maintenance.opened", str(first.window_id)),
        ("maintenance.closed", str(first.window_id)),
        ("maintenance.closed", "maintenance"),
    ]


def test_a_scope_that_is_closed_again_gets_a_new_window(
    world: World, desk: Desk
) -> None:
    first = desk.open()
    desk.close()

    second = desk.open()

    assert second.window_id != first.window_id
    assert second.events == ("maintenance.opened",)
    assert gates(world) == ["panel"]


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ({"scope": "goods"}, "unknown_scope"),
        ({"notice_ru": "x"}, "invalid_member"),
        ({"notice_en": "ab\u202ecd"}, "invalid_member"),
        ({"notice_en": "ab\udcffcd"}, "invalid_member"),
        ({"reason": "x" * 201}, "invalid_member"),
        ({"expected_return": "soon"}, "invalid_member"),
        ({"expected_return": "2020-01-01T00:00:00Z"}, "return_not_later"),
    ],
)
def test_what_makes_no_sense_is_refused_and_on_record(
    world: World, desk: Desk, said: dict[str, Any], code: str
) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        desk.open(**said)

    assert refused.value.code == code
    target = f"maintenance:{said.get('scope', 'panel')}"
    assert [row[:3] for row in world.refusals()] == [("open_maintenance", target, code)]
    assert gates(world) == []


class Together:
    """Lets all who look for windows look at once, the first time."""

    def __init__(self, windows: Windows, parties: int) -> None:
        self._windows = windows
        self._barrier = threading.Barrier(parties)
        self._seen = threading.local()

    def open_windows(self) -> Sequence[OpenWindow]:
        found = self._windows.open_windows()
        if not getattr(self._seen, "has_met", False):
            self._seen.has_met = True
            self._barrier.wait(timeout=30)
        return found


def at_once(world: World, act: Callable[[Desk, int], Maintained]) -> list[object]:
    """Return what two operators got who had looked before either wrote."""
    windows = Together(PostgresWindows(world.database), 2)
    desk = Desk(world, windows)

    def answer(n: int) -> object:
        try:
            return act(desk, n)
        except WindowOpenError as error:
            return error

    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(answer, range(2)))


def test_of_two_who_open_at_once_one_is_told_of_the_other(world: World) -> None:
    names = ("ann", "bob")

    answers = at_once(
        world, lambda desk, n: desk.open(names[n], notice_en=f"Words of {names[n]}")
    )

    (won,) = (each for each in answers if isinstance(each, Maintained))
    (lost,) = (each for each in answers if isinstance(each, WindowOpenError))
    winner = names[answers.index(won)]
    assert lost.opened_by == winner
    assert lost.window == str(won.window_id)
    assert [each.opened_by for each in won.windows] == [winner]
    assert [row[0] for row in log(world)] == [
        "maintenance.opened",
        "operator.action_refused",
    ]


def test_two_who_open_the_same_at_once_share_one_window(world: World) -> None:
    answers = at_once(world, lambda desk, n: desk.open(("ann", "bob")[n]))

    told = [each for each in answers if isinstance(each, Maintained)]
    assert len({each.window_id for each in told}) == 1
    assert sorted(each.events for each in told) == [(), ("maintenance.opened",)]
    assert world.refusals() == []


def test_two_who_close_at_once_close_once(world: World, desk: Desk) -> None:
    desk.open()

    answers = at_once(world, lambda desk, n: desk.close(who=("ann", "bob")[n]))

    told = [each for each in answers if isinstance(each, Maintained)]
    assert sorted(each.events for each in told) == [(), ("maintenance.closed",)]
    assert [row[0] for row in log(world)] == [
        "maintenance.opened",
        "maintenance.closed",
    ]


@pytest.mark.parametrize(
    "toggles", [TOGGLES, pytest.param(5_000, marks=pytest.mark.campaign)]
)
def test_f21_toggles_by_two_operators_leave_whole_windows(
    world: World, toggles: int
) -> None:
    """Whoever wins a turn: windows open once and close once, one after the other."""
    windows = PostgresWindows(world.database)

    def toggle(who: str) -> int:
        desk, written = Desk(world, windows), 0
        for n in range(toggles // 2):
            done = desk.open(who) if n % 2 == 0 else desk.close(who=who)
            written += len(done.events)
        return written

    with ThreadPoolExecutor(2) as pool:
        written = sum(pool.map(toggle, ("ann", "bob")))

    events = [row[0] for row in log(world)]
    assert len(events) == written
    assert set(events[::2]) <= {"maintenance.opened"}
    assert set(events[1::2]) <= {"maintenance.closed"}
    assert len(gates(world)) == len(events) % 2
