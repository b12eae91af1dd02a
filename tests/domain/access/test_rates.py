"""How often somebody may ask."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.access.rates import Policy, full, take

BURST = Policy("burst", 60, 10)
HOUR = Policy("hour", 10_000, 3_600)
POLICIES = (BURST, HOUR)

waits = st.lists(st.floats(min_value=0, max_value=30), min_size=1, max_size=200)


def asked(times: int) -> tuple[float, ...]:
    levels = full(POLICIES)
    for _ in range(times):
        levels, _allowance = take(POLICIES, levels, 0.0)
    return levels


def test_the_first_request_leaves_all_but_one() -> None:
    _, allowance = take(POLICIES, full(POLICIES), 0.0)

    assert allowance.is_allowed
    assert [(each.policy.name, each.remaining) for each in allowance.left] == [
        ("burst", 59),
        ("hour", 9_999),
    ]
    assert [each.reset_seconds for each in allowance.left] == [1, 1]


def test_the_sixty_first_of_a_burst_is_refused_and_costs_nothing() -> None:
    before = asked(60)

    after, allowance = take(POLICIES, before, 0.0)

    assert allowance.violated == ("burst",)
    assert allowance.retry_after_seconds == 1
    assert allowance.left[0].remaining == 0
    assert allowance.left[0].reset_seconds == 10
    assert after == before


def test_whoever_waits_as_long_as_told_may_go_on() -> None:
    levels, refused = take(POLICIES, asked(60), 0.0)

    _, allowance = take(POLICIES, levels, refused.retry_after_seconds)

    assert allowance.is_allowed


def test_a_clock_that_goes_back_gives_nothing() -> None:
    _, allowance = take(POLICIES, asked(60), -5.0)

    assert not allowance.is_allowed


@given(waits)
def test_never_more_than_quota_and_refill_are_let_through(pauses: list[float]) -> None:
    levels, let_through = full((BURST,)), 0
    for pause in pauses:
        levels, allowance = take((BURST,), levels, pause)
        let_through += allowance.is_allowed

    assert let_through <= BURST.quota + BURST.rate * sum(pauses) + 1


@given(waits)
def test_what_is_left_is_never_outside_the_quota(pauses: list[float]) -> None:
    levels = full(POLICIES)
    for pause in pauses:
        levels, allowance = take(POLICIES, levels, pause)
        for each in allowance.left:
            assert 0 <= each.remaining <= each.policy.quota
            assert 0 <= each.reset_seconds <= each.policy.window_seconds
        assert allowance.is_allowed == (allowance.retry_after_seconds == 0)


@pytest.mark.parametrize("elapsed", [0.0, 1e9])
def test_the_levels_never_rise_above_the_quota(elapsed: float) -> None:
    levels, _ = take(POLICIES, full(POLICIES), elapsed)

    assert all(
        level <= policy.quota for level, policy in zip(levels, POLICIES, strict=True)
    )
