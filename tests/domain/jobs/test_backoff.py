"""S9: the waits double up to the longest, move by the jitter alone, and never fail."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.jobs.aggregate import LARGEST_ATTEMPT
from domain.jobs.backoff import Backoff

SCHEDULE = (10, 20, 40, 80, 160, 320, 640, 1280, 1280, 1280)
rules = st.builds(
    Backoff,
    base_seconds=st.floats(0.001, 86_400),
    cap_exponent=st.integers(0, 20),
    jitter=st.floats(0, 0.99),
)
spins = st.floats(allow_nan=False)
attempts = st.integers(0, LARGEST_ATTEMPT)


def test_s9_the_waits_are_10_20_up_to_1280_seconds_and_then_flat() -> None:
    rule = Backoff(jitter=0.0)

    waits = [rule.delay(n, 0.0).total_seconds() for n in range(1, 11)]

    assert waits == list(SCHEDULE)


@pytest.mark.parametrize("n", range(1, 11))
@pytest.mark.parametrize("spin", [-1.0, -0.3, 0.0, 0.7, 1.0])
def test_s9_the_jitter_moves_a_wait_by_a_tenth_at_most(n: int, spin: float) -> None:
    wait = Backoff().delay(n, spin).total_seconds()

    assert SCHEDULE[n - 1] * 0.9 <= wait <= min(SCHEDULE[n - 1] * 1.1, 1280)


@pytest.mark.parametrize("attempt", [40, 1_000, 2**31 - 1])
def test_s9_a_huge_number_of_attempts_waits_the_longest(attempt: int) -> None:
    assert Backoff(jitter=0.0).delay(attempt, 0.0) == timedelta(seconds=1280)


@given(rule=rules, attempt=attempts, spin=spins)
def test_a_wait_is_never_below_the_base_nor_above_the_longest(
    rule: Backoff, attempt: int, spin: float
) -> None:
    wait = rule.delay(attempt, spin)

    assert timedelta(seconds=rule.base_seconds) <= wait
    assert wait <= timedelta(seconds=rule.longest_seconds)
    assert wait > timedelta(0)


@given(rule=rules, attempt=st.integers(0, 100), spin=spins)
def test_a_later_attempt_never_waits_less(
    rule: Backoff, attempt: int, spin: float
) -> None:
    assert rule.delay(attempt, spin) <= rule.delay(attempt + 1, spin)


@pytest.mark.parametrize(
    "wrong",
    [
        {"base_seconds": 0.0},
        {"base_seconds": -5.0},
        {"base_seconds": float("nan")},
        {"base_seconds": float("inf")},
        {"cap_exponent": -1},
        {"cap_exponent": 21},
        {"jitter": -0.1},
        {"jitter": 1.0},
    ],
)
def test_s9_a_rule_that_retries_at_once_or_never_is_refused(
    wrong: dict[str, float],
) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Backoff(**wrong)  # type: ignore[arg-type] # wrong on purpose
