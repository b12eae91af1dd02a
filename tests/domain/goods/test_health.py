"""When a provider counts as ill, and who may try it again."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from domain.goods.health import (
    COOL_DOWN,
    LAST_FAILURE,
    PATIENCE,
    Health,
    Sign,
    Status,
    is_closed,
    judged,
    may_probe,
)

NOW = datetime(2026, 3, 1, tzinfo=UTC)
STEPS = st.lists(
    st.tuples(st.sampled_from(Sign), st.integers(0, 4_000)), min_size=1, max_size=40
)


def failed(times: int, health: Health | None = None, at: datetime = NOW) -> Health:
    state = health or Health()
    for _ in range(times):
        state = judged(state, Sign.FAILURE, "http_503", at)
    return state


def test_the_last_failure_in_a_row_closes_the_gate_and_none_before() -> None:
    almost = failed(LAST_FAILURE - 1)

    assert almost.status is Status.FAILING
    assert not is_closed(almost, NOW)
    closed = failed(1, almost)
    assert is_closed(closed, NOW)
    assert (closed.closed_at, closed.retry_at) == (NOW, NOW + COOL_DOWN)
    assert closed.last_error_code == "http_503"


def test_a_success_in_between_begins_anew() -> None:
    healthy = judged(failed(LAST_FAILURE - 1), Sign.SUCCESS, None, NOW)

    assert healthy == Health(status=Status.HEALTHY, last_checked_at=NOW)
    assert not is_closed(failed(LAST_FAILURE - 1, healthy), NOW)


def test_answers_to_what_was_asked_before_lengthen_nothing() -> None:
    closed = failed(LAST_FAILURE)

    assert failed(7, closed).retry_at == closed.retry_at


def test_each_failed_try_doubles_the_cool_down_up_to_half_an_hour() -> None:
    health = failed(LAST_FAILURE)
    pauses = [COOL_DOWN]
    for _ in range(8):
        assert health.retry_at is not None
        at = health.retry_at + timedelta(seconds=1)
        health = failed(1, health, at)
        assert health.retry_at is not None
        pauses.append(health.retry_at - at)

    assert pauses[1] == 2 * COOL_DOWN
    assert pauses == sorted(pauses)
    assert pauses[-1] == PATIENCE.longest


def test_one_tries_and_the_others_wait_for_it() -> None:
    closed = failed(LAST_FAILURE)
    due = NOW + COOL_DOWN

    assert not may_probe(closed, NOW)
    assert may_probe(closed, due)
    tried = Health(
        status=Status.FAILING,
        failures=5,
        closed_at=NOW,
        retry_at=due,
        probe_until=due + PATIENCE.probe_for,
    )
    assert not may_probe(tried, due)
    assert may_probe(tried, due + PATIENCE.probe_for)


def test_a_success_opens_the_gate_whoever_had_tried() -> None:
    health = judged(failed(LAST_FAILURE), Sign.SUCCESS, None, NOW + COOL_DOWN)

    assert health.closed_at is None
    assert health.failures == 0


@given(steps=STEPS)
def test_a_gate_is_closed_only_after_failures_in_a_row(
    steps: list[tuple[Sign, int]],
) -> None:
    health, now, in_a_row = Health(), NOW, 0
    for sign, seconds in steps:
        now += timedelta(seconds=seconds)
        health = judged(health, sign, "code", now)
        if sign is not Sign.NOTHING:
            in_a_row = in_a_row + 1 if sign is Sign.FAILURE else 0
        assert health.failures == in_a_row
        assert (health.closed_at is None) == (health.retry_at is None)
        assert (health.closed_at is not None) == (in_a_row >= LAST_FAILURE)
        assert health.retry_at is None or health.retry_at <= now + PATIENCE.longest
        assert health.closed_at is None or health.status is Status.FAILING
