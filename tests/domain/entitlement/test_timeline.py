"""What is in force when: changes for later, pauses, disabling, people's changes."""

from datetime import datetime, timedelta

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from domain.entitlement.aggregate import decide, evolve
from domain.entitlement.commands import (
    AddOn,
    Adjust,
    Disable,
    Enable,
    EntitlementCommand,
    Pause,
    Resume,
    Settle,
)
from domain.entitlement.events import DesiredChanged, Disabled, Enabled
from domain.entitlement.state import Desired, Entitlement
from domain.entitlement.timeline import (
    LAST_INSTANT,
    Standing,
    in_force,
    newest,
    planned,
    standing,
)
from domain.errors import IllegalTransitionError, InvalidRequestError
from tests.domain.entitlement.test_entitlement import ORDER, day, settle

SQUADS = ("11111111-1111-4111-8111-111111111111",)


def after(*commands: EntitlementCommand) -> Entitlement:
    return further(Entitlement(), *commands)


def further(entitlement: Entitlement, *commands: EntitlementCommand) -> Entitlement:
    for command in commands:
        for event in decide(entitlement, command):
            entitlement = evolve(entitlement, event)
    return entitlement


def later(paid: float, effective: float, *, days: int = 30, traffic: int = 5) -> Settle:
    """Return a settlement whose change comes later: a downgrade at the period's end."""
    command = settle(day(paid), days=days, traffic=traffic)
    return msgspec.structs.replace(command, effective_at=day(effective))


def add_on(at: float, **given: object) -> AddOn:
    command = AddOn(order=ORDER, settled_at=day(at), at=day(at))
    return msgspec.structs.replace(command, **given)


def owed(entitlement: Entitlement, at: float) -> Desired:
    found = in_force(entitlement, day(at))
    assert found is not None
    return found


def test_a_change_for_later_is_in_force_from_its_instant() -> None:
    entitlement = after(settle(days=30, traffic=9), later(1, 30))

    assert owed(entitlement, 29.9).traffic_bytes == 9
    assert owed(entitlement, 29.9).ends_at == day(30)
    assert owed(entitlement, 30).traffic_bytes == 5
    assert owed(entitlement, 30).ends_at == day(60)


def test_its_days_count_from_what_is_planned_and_never_from_before_it_comes() -> None:
    twice = after(settle(days=30), later(1, 30), later(2, 30, days=10))
    gap = after(settle(days=1), later(0.5, 20))

    assert owed(twice, 30).ends_at == day(70)
    assert owed(gap, 20).ends_at == day(50)


def test_whoever_has_nothing_yet_is_owed_nothing_before_it_comes() -> None:
    first = msgspec.structs.replace(later(0, 10).line, grace_seconds=3600)
    entitlement = after(msgspec.structs.replace(later(0, 10), line=first))

    assert owed(entitlement, 5).remote_expire_at == day(0)
    assert owed(entitlement, 10).ends_at == day(40)


def test_the_newest_version_says_what_it_has_put_off() -> None:
    entitlement = after(settle(), later(1, 30))
    put_off = newest(entitlement)

    assert put_off is not None
    assert (put_off.version, put_off.effective_at) == (2, day(30))
    assert newest(further(entitlement, Pause(day(2)))) is None


def test_a_settlement_at_once_takes_what_was_to_come_with_it() -> None:
    entitlement = after(settle(days=30), later(1, 30), settle(day(2), days=5))

    assert entitlement.upcoming == ()
    assert owed(entitlement, 2).ends_at == day(65)
    assert owed(entitlement, 2).traffic_bytes is None


def test_a_settlement_that_was_paid_before_lets_come_what_was_paid_later() -> None:
    in_time = after(settle(days=30), settle(day(1), days=5), later(2, 30))
    decided_late = after(settle(days=30), later(2, 30), settle(day(1), days=5))

    assert decided_late.upcoming[0].desired == in_time.upcoming[0].desired
    assert owed(decided_late, 3).ends_at == owed(in_time, 3).ends_at == day(35)


def test_a_change_for_later_that_is_decided_late_only_adds_its_days() -> None:
    entitlement = after(settle(day(5), days=30, traffic=9), later(1, 30))

    assert entitlement.upcoming == ()
    assert newest(entitlement) is None
    assert owed(entitlement, 31).ends_at == day(65)
    assert owed(entitlement, 31).traffic_bytes == 9


def test_what_has_come_is_the_base_of_the_next_change() -> None:
    came = after(settle(days=30), later(1, 30))
    entitlement = further(came, Adjust(at=day(31), device_limit=3))

    assert entitlement.upcoming == ()
    assert entitlement.desired is not None
    assert entitlement.desired.traffic_bytes == 5
    assert entitlement.desired.device_limit == 3
    assert entitlement.desired.ends_at == day(60)


def test_one_that_was_overtaken_never_comes() -> None:
    """A lower version whose instant is later does not undo a higher one."""
    entitlement = after(settle(), later(1, 30, traffic=5), later(2, 20, traffic=6))

    assert [owed(entitlement, at).traffic_bytes for at in (19, 25, 35)] == [None, 6, 6]
    folded = further(entitlement, Adjust(at=day(25), device_limit=3))
    assert owed(folded, 35).traffic_bytes == 6


def test_a_person_changes_what_is_named_and_nothing_else() -> None:
    before = after(settle(days=30, traffic=9))
    changed = further(
        before, Adjust(at=day(1), traffic_bytes=None, squad_ids=SQUADS)
    ).desired

    assert before.desired is not None
    assert changed == msgspec.structs.replace(
        before.desired, traffic_bytes=None, squad_ids=SQUADS
    )


def test_an_extension_moves_what_is_to_come_by_as_much() -> None:
    entitlement = further(
        after(settle(days=30), later(1, 30)), Adjust(at=day(2), ends_at=day(37))
    )

    assert owed(entitlement, 2).ends_at == day(37)
    assert owed(entitlement, 30).ends_at == day(67)


@pytest.mark.parametrize("end", [29, 30])
def test_an_extension_must_be_later_than_the_present_end(end: int) -> None:
    with pytest.raises(InvalidRequestError, match="endsAt"):
        decide(after(settle(days=30)), Adjust(at=day(1), ends_at=day(end)))


def test_limits_of_a_person_stay_out_of_what_is_to_come() -> None:
    entitlement = further(
        after(settle(days=30), later(1, 30)), Adjust(at=day(2), traffic_bytes=7)
    )

    assert owed(entitlement, 2).traffic_bytes == 7
    assert owed(entitlement, 30).traffic_bytes == 5


@pytest.mark.parametrize("reset", [True, False])
def test_a_reset_is_asked_for_by_itself_and_never_inherited(
    reset: bool,  # noqa: FBT001 - a parameter of pytest
) -> None:
    command = Adjust(at=day(1), reset_traffic=reset)
    (changed,) = decide(after(settle(reset=True)), command)

    assert isinstance(changed, DesiredChanged)
    assert changed.desired.reset_traffic == reset
    assert (changed.order, changed.desired_version) == (None, 2)


def test_a_reset_while_it_rests_moves_no_end() -> None:
    """The panel is told nothing but the reset, so nothing else may have changed."""
    paused = after(settle(days=30), Pause(day(10)))
    reset = further(paused, Adjust(at=day(15), reset_traffic=True))

    assert owed(reset, 15).ends_at == day(30)
    assert owed(further(reset, Resume(day(17))), 17).ends_at == day(37)


def test_an_add_on_changes_what_it_names_and_adds_its_days() -> None:
    entitlement = further(
        after(settle(days=30, traffic=9)), add_on(1, days=5, device_limit=4)
    )

    assert owed(entitlement, 1).ends_at == day(35)
    assert owed(entitlement, 1).traffic_bytes == 9
    assert owed(entitlement, 1).device_limit == 4
    assert entitlement.paid_at == day(1)


def test_an_add_on_that_is_decided_late_adds_its_days_and_leaves_the_limits() -> None:
    late = msgspec.structs.replace(add_on(1, days=5, traffic_bytes=1), at=day(9))
    entitlement = further(after(settle(day(5), days=30, traffic=9)), late)

    assert owed(entitlement, 9).ends_at == day(40)
    assert owed(entitlement, 9).traffic_bytes == 9


def test_a_pause_stops_the_time_and_a_resumption_gives_it_back() -> None:
    paused = after(settle(days=30), Pause(day(10)))
    resumed = further(paused, Resume(day(17)))

    assert standing(paused, day(11)) is Standing.PAUSED
    assert standing(resumed, day(17)) is Standing.ACTIVE
    assert owed(resumed, 17).ends_at == day(37)
    assert resumed.desired_version == 3


def test_a_resumption_moves_what_is_to_come_as_well() -> None:
    resumed = after(settle(days=30), later(1, 30), Pause(day(10)), Resume(day(17)))

    assert owed(resumed, 30).ends_at == day(67)


def test_access_that_had_ended_before_the_pause_gains_nothing() -> None:
    resumed = after(settle(days=5), Pause(day(10)), Resume(day(17)))

    assert owed(resumed, 17).ends_at == day(5)


@pytest.mark.parametrize("settled_at", [12, 40])
def test_days_that_are_bought_while_it_rests_are_bought_in_full(
    settled_at: int,
) -> None:
    """20 days were left, 30 are bought: whoever resumes has 50."""
    paused = after(settle(days=30), Pause(day(10)), settle(day(settled_at), days=30))

    assert standing(paused, day(settled_at)) is Standing.PAUSED
    assert owed(further(paused, Resume(day(50))), 50).ends_at == day(100)


def test_an_end_that_is_set_while_it_rests_moves_by_what_is_paused_after_that() -> None:
    paused = after(settle(days=30), Pause(day(10)))
    extended = further(paused, Adjust(at=day(20), ends_at=day(60)))

    assert owed(extended, 20).ends_at == day(60)
    assert owed(further(extended, Resume(day(25))), 25).ends_at == day(65)


@pytest.mark.parametrize(
    ("before", "command", "stage"),
    [
        ((Pause(day(1)),), Pause(day(2)), "paused"),
        ((), Resume(day(2)), "not_paused"),
        ((Disable(),), Resume(day(2)), "not_paused"),
        ((Pause(day(1)),), Enable(), "paused"),
    ],
)
def test_what_the_standing_forbids_is_refused(
    before: tuple[EntitlementCommand, ...], command: EntitlementCommand, stage: str
) -> None:
    with pytest.raises(IllegalTransitionError) as refused:
        decide(after(settle(), *before), command)

    assert refused.value.stage == stage


@pytest.mark.parametrize(
    "command",
    [
        Pause(day(1)),
        Resume(day(1)),
        Disable(),
        Enable(),
        Adjust(at=day(1), device_limit=1),
        add_on(1, days=1),
    ],
)
def test_nothing_is_changed_of_what_nobody_granted(command: EntitlementCommand) -> None:
    with pytest.raises(IllegalTransitionError):
        decide(Entitlement(), command)


def test_paused_and_disabled_are_independent() -> None:
    both = after(settle(), Pause(day(1)), Disable())

    assert standing(both, day(2)) is Standing.PAUSED
    assert standing(further(both, Resume(day(2))), day(2)) is Standing.DISABLED


def test_a_settlement_ends_the_disabling_and_not_the_pause() -> None:
    both = after(settle(), Pause(day(1)), Disable())
    paid = further(both, settle(day(2)))

    assert not paid.is_disabled
    assert standing(paid, day(2)) is Standing.PAUSED


def test_disabling_what_is_disabled_says_nothing() -> None:
    assert decide(after(settle(), Disable()), Disable()) == ()


def test_a_change_for_later_ends_an_earlier_disabling_when_it_comes() -> None:
    entitlement = after(settle(), Disable(), later(1, 20))

    assert standing(entitlement, day(19)) is Standing.DISABLED
    assert standing(entitlement, day(20)) is Standing.ACTIVE
    *_, enabled = decide(entitlement, Adjust(at=day(21), device_limit=1))
    assert enabled == Enabled(desired_version=4)


def test_disabled_once_more_it_stays_off_when_that_comes() -> None:
    planned_for = after(settle(), Disable(), later(1, 20))
    (event,) = decide(planned_for, Disable())

    assert event == Disabled(desired_version=4)
    assert standing(evolve(planned_for, event), day(20)) is Standing.DISABLED


def test_no_end_passes_the_last_instant() -> None:
    resumed = after(settle(days=36_500), Pause(day(1)), Resume(LAST_INSTANT))

    assert resumed.desired is not None
    assert resumed.desired.ends_at == LAST_INSTANT


INSTANTS = st.integers(0, 300).map(day)
COMMANDS = st.one_of(
    st.builds(settle, INSTANTS, days=st.integers(1, 90), traffic=st.integers(0, 9)),
    st.builds(later, st.integers(0, 300), st.integers(0, 400), days=st.integers(1, 90)),
    st.builds(Adjust, at=INSTANTS, traffic_bytes=st.one_of(st.none(), st.just(3))),
    st.builds(Adjust, at=INSTANTS, ends_at=st.integers(0, 900).map(day)),
    st.builds(Adjust, at=INSTANTS, reset_traffic=st.just(True)),  # noqa: FBT003 - a strategy
    st.builds(add_on, st.integers(0, 300), days=st.one_of(st.just(UNSET), st.just(7))),
    st.builds(Pause, INSTANTS),
    st.builds(Resume, INSTANTS),
    st.just(Disable()),
    st.just(Enable()),
)


@given(st.lists(COMMANDS, max_size=15))
def test_whatever_is_asked_in_whatever_order_the_rules_hold(
    commands: list[EntitlementCommand],
) -> None:
    entitlement = after(settle())
    for command in commands:
        if isinstance(command, Settle) and not _is_later(command):
            command = msgspec.structs.replace(command, effective_at=None)  # noqa: PLW2901
        before = entitlement
        try:
            events = decide(before, command)
        except (IllegalTransitionError, InvalidRequestError):
            continue
        entitlement = further(before, command)
        _assert_one_version(before, entitlement, len(events))
        _assert_nothing_is_lost(before, entitlement, command)


def _is_later(command: Settle) -> bool:
    return command.effective_at is None or command.effective_at > command.settled_at


def _assert_one_version(before: Entitlement, now: Entitlement, events: int) -> None:
    assert now.version == before.version + events
    assert now.desired_version == before.desired_version + min(events, 1)
    assert now.disabled_version is None or now.disabled_version <= now.desired_version
    versions = [it.version for it in now.upcoming]
    assert versions == sorted(set(versions))
    assert all(version <= now.desired_version for version in versions)


def _assert_nothing_is_lost(
    before: Entitlement, now: Entitlement, command: EntitlementCommand
) -> None:
    """No command but a new end makes what is planned in the end any shorter."""
    was, will = planned(before), planned(now)
    assert was is not None
    assert will is not None
    least = timedelta()
    if isinstance(command, Settle):
        least = timedelta(days=command.line.days or 0)
    assert will.ends_at >= was.ends_at + least or _is_overtaken(before, now)


def _is_overtaken(before: Entitlement, now: Entitlement) -> bool:
    """Whether the last of the plan was given up for one of a higher version."""
    return len(now.upcoming) < len(before.upcoming)


@given(st.integers(0, 50), st.integers(1, 50), st.integers(0, 60), st.integers(1, 60))
def test_a_pause_never_changes_how_much_time_is_left(
    paused: int, length: int, bought_at: int, days: int
) -> None:
    """Bought before, while or after it rests: the same time is left at the end."""
    first = settle(days=100)
    end = max(paused + length, bought_at)
    buy = settle(day(bought_at), days=days)
    around: list[tuple[datetime, EntitlementCommand]] = sorted(
        [
            (day(paused), Pause(day(paused))),
            (day(paused + length), Resume(day(paused + length))),
            (day(bought_at), buy),
        ],
        key=lambda each: each[0],
    )

    entitlement = after(first, *(command for _, command in around))

    assert owed(entitlement, end).ends_at == day(100 + length + days)
