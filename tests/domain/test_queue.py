"""Queues: a pause ends by itself, and whoever comes second is told by whom."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.errors import InvalidRequestError
from domain.queues.queue import (
    LONGEST_PAUSE,
    MOST_CONCURRENT,
    Limit,
    Pause,
    Queue,
    QueueCommand,
    QueuePause,
    QueuePausedError,
    Resume,
    changed,
)
from domain.text import redact

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)
UNTOUCHED = Queue(name="bulk")
HOUR = timedelta(hours=1)


def pause(by: str = "ann", reason: str = "reports", after: timedelta = HOUR) -> Pause:
    return Pause(until=NOW + after, by=by, reason=reason)


PAUSED = changed(UNTOUCHED, pause(), NOW)


def test_a_pause_is_in_force_until_its_instant_and_not_after_it() -> None:
    in_force = PAUSED.pause_at(NOW + HOUR - timedelta(microseconds=1))

    assert in_force is not None
    assert (in_force.at, in_force.by, in_force.reason) == (NOW, "ann", "reports")
    assert PAUSED.pause_at(NOW + HOUR) is None


def test_the_same_person_renews_it_for_the_same_reason() -> None:
    later = NOW + timedelta(minutes=50)
    renewal = Pause(until=later + LONGEST_PAUSE, by="ann", reason="reports")

    renewed = changed(PAUSED, renewal, later)

    assert renewed.pause is not None
    assert (renewed.pause.at, renewed.pause.until) == (NOW, later + LONGEST_PAUSE)
    assert renewed.version == PAUSED.version + 1


def test_the_same_once_more_changes_nothing() -> None:
    assert changed(PAUSED, pause(), NOW) == PAUSED
    assert changed(UNTOUCHED, Resume(), NOW) == UNTOUCHED
    assert changed(UNTOUCHED, Limit(concurrency=None), NOW) == UNTOUCHED


@pytest.mark.parametrize("other", [pause(by="bob"), pause(reason="repairs")])
def test_whoever_pauses_it_in_other_words_is_told_who_did(other: Pause) -> None:
    with pytest.raises(QueuePausedError, match="by ann until 2026-12-01 13:00:00Z"):
        changed(PAUSED, other, NOW)


def test_a_pause_that_is_over_is_nobodys() -> None:
    later = NOW + HOUR

    again = changed(PAUSED, Pause(until=later + HOUR, by="bob", reason="x"), later)

    assert again.pause is not None
    assert (again.pause.at, again.pause.by) == (later, "bob")
    assert changed(PAUSED, Resume(), later) == PAUSED


@given(st.timedeltas())
def test_no_pause_is_for_ever_or_over_before_it_begins(after: timedelta) -> None:
    try:
        until = NOW + after
    except OverflowError:
        return
    command = Pause(until=until, by="ann", reason="reports")

    if timedelta(0) < after <= LONGEST_PAUSE:
        assert changed(UNTOUCHED, command, NOW).pause is not None
    else:
        with pytest.raises(InvalidRequestError, match="expiresAt"):
            changed(UNTOUCHED, command, NOW)


@given(st.integers())
def test_a_limit_is_a_number_that_lets_something_run(n: int) -> None:
    limit = Limit(concurrency=n)

    if 1 <= n <= MOST_CONCURRENT:
        assert changed(UNTOUCHED, limit, NOW).concurrency == n
    else:
        with pytest.raises(InvalidRequestError, match="concurrency"):
            changed(UNTOUCHED, limit, NOW)


COMMANDS: st.SearchStrategy[QueueCommand] = st.one_of(
    st.builds(
        Pause,
        until=st.datetimes(
            min_value=datetime(2026, 12, 1),  # noqa: DTZ001 - the zone comes next
            max_value=datetime(2026, 12, 4),  # noqa: DTZ001
            timezones=st.just(UTC),
        ),
        by=st.sampled_from(["ann", "bob"]),
        reason=st.sampled_from(["x", "y"]),
    ),
    st.just(Resume()),
    st.builds(Limit, concurrency=st.none() | st.integers(-1, 3)),
)


@given(st.lists(st.tuples(COMMANDS, st.timedeltas(timedelta(0), HOUR)), max_size=8))
def test_every_change_is_a_new_version_and_nothing_else_is(
    commands: list[tuple[QueueCommand, timedelta]],
) -> None:
    queue, now = UNTOUCHED, NOW
    for command, passed in commands:
        now += passed
        try:
            after = changed(queue, command, now)
        except (InvalidRequestError, QueuePausedError):
            continue
        assert (after.version == queue.version) == (after == queue)
        assert after.version <= queue.version + 1
        assert changed(after, command, now) == after
        queue = after


def test_whoever_comes_second_is_told_which_program_was_first() -> None:
    first = QueuePause(at=NOW, until=NOW + HOUR, by="token:nightly", reason="reports")
    refused = QueuePausedError("bulk", first)

    assert "paused by nightly until" in redact(str(refused))
