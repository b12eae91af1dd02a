"""A window of maintenance: as stories, and whatever order its commands come in."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from domain.errors import IllegalTransitionError, InvalidRequestError
from domain.maintenance.aggregate import (
    Announcement,
    Close,
    MaintenanceCommand,
    MaintenanceWindow,
    Open,
    Stage,
    decide,
    evolve,
    said_of,
)
from domain.maintenance.events import Closed, MaintenanceEvent, Opened

AT = datetime(2026, 8, 1, 3, tzinfo=UTC)
SAID = Announcement(
    scope="panel",
    reason="the panel moves",
    notice_ru="Идут работы",
    notice_en="We are at work",
    expected_return=AT + timedelta(hours=1),
)
OPEN = Open(said=SAID, at=AT)
CLOSE = Close()
COMMANDS = (OPEN, Open(said=replace(SAID, notice_en="Soon"), at=AT), CLOSE)


def after(*commands: MaintenanceCommand) -> MaintenanceWindow:
    window = MaintenanceWindow()
    for command in commands:
        for event in decide(window, command):
            window = evolve(window, event)
    return window


def test_a_window_opens_with_everything_that_was_said() -> None:
    (event,) = decide(MaintenanceWindow(), OPEN)

    assert event == Opened(
        scope="panel",
        source="manual",
        reason="the panel moves",
        notice_ru="Идут работы",
        notice_en="We are at work",
        expected_return=AT + timedelta(hours=1),
    )
    assert after(OPEN).stage is Stage.OPEN
    assert said_of(after(OPEN)) == SAID


def test_a_window_closes_and_keeps_what_was_said() -> None:
    assert decide(after(OPEN), CLOSE) == (Closed(),)
    closed = after(OPEN, CLOSE)
    assert closed.stage is Stage.CLOSED
    assert said_of(closed) == SAID
    assert closed.version == 2


def test_the_same_once_more_changes_nothing_also_after_the_expected_return() -> None:
    late = Open(said=SAID, at=AT + timedelta(days=1))

    assert decide(after(OPEN), OPEN) == ()
    assert decide(after(OPEN), late) == ()
    assert decide(after(OPEN, CLOSE), CLOSE) == ()


@pytest.mark.parametrize(
    "other",
    [
        replace(SAID, reason="another"),
        replace(SAID, notice_ru="Скоро"),
        replace(SAID, notice_en="Soon"),
        replace(SAID, expected_return=None),
        replace(SAID, scope="all"),
    ],
)
def test_an_open_window_does_not_change_what_it_says(other: Announcement) -> None:
    with pytest.raises(IllegalTransitionError, match="maintenance window is open"):
        decide(after(OPEN), Open(said=other, at=AT))


def test_a_closed_window_is_final() -> None:
    with pytest.raises(IllegalTransitionError):
        decide(after(OPEN, CLOSE), OPEN)


def test_what_nobody_opened_is_not_closed() -> None:
    with pytest.raises(IllegalTransitionError):
        decide(MaintenanceWindow(), CLOSE)


@pytest.mark.parametrize("early", [timedelta(0), timedelta(microseconds=1)])
def test_a_return_that_is_not_later_than_the_opening_is_refused(
    early: timedelta,
) -> None:
    said = replace(SAID, expected_return=AT - early)

    with pytest.raises(InvalidRequestError) as refused:
        decide(MaintenanceWindow(), Open(said=said, at=AT))

    assert (refused.value.code, refused.value.path) == (
        "return_not_later",
        "expectedReturn",
    )


@given(st.lists(st.sampled_from(COMMANDS), max_size=8))
def test_whatever_order_commands_come_in(commands: list[MaintenanceCommand]) -> None:
    """It opens once and closes once, and an event is one version."""
    window = MaintenanceWindow()
    events: list[MaintenanceEvent] = []
    for command in commands:
        try:
            happened = decide(window, command)
        except IllegalTransitionError:
            continue
        for event in happened:
            window = evolve(window, event)
        events += happened

    tags = [event.tag for event in events]
    assert tags == ["maintenance.opened", "maintenance.closed"][: len(tags)]
    assert window.version == len(events)
    assert (window.stage is Stage.OPEN) == (len(tags) == 1)
