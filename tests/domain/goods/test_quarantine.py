"""The rules of the restore guard, whatever signs come in whatever order."""

from hypothesis import given
from hypothesis import strategies as st

from domain.goods.quarantine import (
    BY_PEOPLE,
    DATABASE,
    JOURNAL,
    OPERATOR,
    SIGNS,
    SYSTEM_IDENTIFIER,
    TIMELINE,
    Quarantine,
    engaged,
    may_have_lost,
    may_release,
)

LOSSES = (SYSTEM_IDENTIFIER, DATABASE, JOURNAL)
FOUND = st.frozensets(st.sampled_from(SIGNS), max_size=3)


def after(*found: frozenset[str], planned_at: int = -1) -> Quarantine:
    quarantine = Quarantine()
    for n, signs in enumerate(found):
        is_planned = n == planned_at
        quarantine = engaged(quarantine, signs, is_planned=is_planned) or quarantine
    return quarantine


@given(found=st.lists(FOUND, max_size=6))
def test_any_one_sign_engages_and_none_is_forgotten(
    found: list[frozenset[str]],
) -> None:
    quarantine = after(*found)

    assert quarantine.is_engaged == any(found)
    assert set(quarantine.signs) == set().union(*found)
    assert quarantine.episode == int(any(found))


@given(found=st.lists(FOUND, min_size=1, max_size=6))
def test_the_same_once_more_changes_nothing(found: list[frozenset[str]]) -> None:
    quarantine = after(*found)

    for signs in found:
        assert engaged(quarantine, signs) is None


@given(found=st.lists(FOUND, max_size=4), planned_at=st.integers(-1, 3))
def test_only_what_a_person_planned_and_nothing_contradicts_has_lost_nothing(
    found: list[frozenset[str]], planned_at: int
) -> None:
    quarantine = after(*found, planned_at=planned_at)
    first = next((n for n, signs in enumerate(found) if signs), None)

    if quarantine.is_engaged and not may_have_lost(quarantine):
        assert planned_at == first
        assert set(quarantine.signs) <= {OPERATOR, TIMELINE}


def test_a_planned_switchover_may_be_released_at_once() -> None:
    planned = after(frozenset({OPERATOR}), frozenset({TIMELINE}), planned_at=0)

    assert planned.is_planned
    assert may_release(planned, 7, is_override=False)


def test_a_loss_ends_what_was_planned() -> None:
    for sign in LOSSES:
        planned = after(frozenset({OPERATOR}), frozenset({sign}), planned_at=0)
        assert may_have_lost(planned)
        assert not may_release(planned, 1, is_override=False)


def test_a_person_ends_what_was_planned_by_saying_otherwise() -> None:
    for sign in BY_PEOPLE:
        planned = after(frozenset({OPERATOR}), frozenset({sign}), planned_at=0)
        assert may_have_lost(planned)


def test_what_is_left_bars_the_release_unless_it_is_overridden() -> None:
    quarantine = after(frozenset({JOURNAL}))

    assert may_release(quarantine, 0, is_override=False)
    assert not may_release(quarantine, 1, is_override=False)
    assert may_release(quarantine, 1, is_override=True)


def test_a_released_guard_counts_its_next_episode() -> None:
    released = Quarantine(episode=3)

    again = engaged(released, {TIMELINE})

    assert again is not None
    assert (again.episode, again.is_engaged) == (4, True)
