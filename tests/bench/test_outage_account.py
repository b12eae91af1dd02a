"""What the journals of an outage say, without an outage."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from bench.outages.account import (
    Journal,
    Mark,
    Phases,
    back_after,
    by_second,
    caught_up_after,
    fate,
    first_ends,
    orphans,
    rate,
    silence,
)

NOTHING = Journal([], [], {}, set(), set(), 0)
PHASES = Phases(began_at=100.0, event_at=103.0, over_at=104.0, ended_at=109.0)


def test_a_rate_counts_what_ended_in_its_time_and_not_at_its_border() -> None:
    assert rate([1.0, 1.5, 2.0], 1.0, 2.0) == 2
    assert rate([1.0, 1.5, 2.0], 1.0, 3.0) == 1.5


def test_no_second_mixes_before_and_after() -> None:
    ends = [*every(0.1, 100.0, 103.0), *every(0.5, 103.0, 109.0)]

    points = by_second(ends, PHASES)

    assert [at for at, _ in points] == [-3, -2, -1, 0, 1, 2, 3, 4, 5]
    assert [rounded for _, rounded in points] == [10, 10, 10, 2, 2, 2, 2, 2, 2]


def test_half_a_second_at_either_side_is_no_point() -> None:
    phases = Phases(began_at=99.5, event_at=101.0, over_at=101.5, ended_at=103.9)

    assert [at for at, _ in by_second([], phases)] == [-1, 0, 1]


def test_throughput_is_back_when_a_whole_second_holds_nine_tenths_of_it() -> None:
    ends = [*every(0.01, 100.0, 103.0), *every(0.01, 105.5, 109.0)]

    back = back_after(ends, PHASES)

    assert back == pytest.approx(2.4, abs=0.051)


def test_an_event_that_is_not_seen_takes_no_time() -> None:
    assert back_after(every(0.01, 100.0, 109.0), PHASES) == 0


def test_throughput_that_stays_lower_is_never_back() -> None:
    ends = [*every(0.01, 100.0, 103.0), *every(0.02, 103.0, 109.0)]

    assert back_after(ends, PHASES) is None


def test_the_longest_silence_may_last_until_the_end() -> None:
    assert silence([101.0, 102.9, 103.5, 104.0, 120.0], PHASES) == 5.0
    assert silence([], PHASES) == 6.0


def test_a_job_that_ends_twice_counts_when_it_first_ended() -> None:
    journal = told(ended=[(7, 5.0, 0), (7, 2.0, 1), (8, 3.0, 0)])

    assert first_ends(journal) == [2.0, 3.0]


def test_a_committed_job_that_nobody_remembers_is_lost() -> None:
    journal = told(ended=[(1, 1.0, 0)], committed={1, 2, 3}, unfinished=1)

    assert (fate(journal).lost, fate(journal).open) == (1, 1)


def test_work_that_the_system_made_for_itself_hides_no_more_than_it_is() -> None:
    journal = told(ended=[(1, 1.0, 0)], committed={1, 2}, unfinished=40)

    assert (fate(journal).lost, fate(journal).open) == (0, 1)


def test_runs_of_one_job_are_counted_as_begun_and_as_ended() -> None:
    journal = told(
        begun=[(1, 1.0, 0), (1, 2.0, 1), (2, 1.0, 0), (2, 2.0, 0), (2, 3.0, 1)],
        ended=[(1, 2.5, 1), (2, 1.5, 0), (2, 3.5, 1)],
        committed={1, 2},
    )

    assert (fate(journal).begun_twice, fate(journal).ended_twice) == (2, 1)


def test_a_commit_whose_answer_was_lost_may_have_happened_or_not() -> None:
    journal = told(
        begun=[(1, 1.0, 0), (2, 1.0, 0), (9, 1.0, 0)],
        ended=[(1, 1.1, 0), (2, 1.1, 0)],
        confirmed={1: 0.5, 3: 0.6},
        unknown={2, 4},
        committed={1, 2},
    )

    assert fate(journal).unknown_ended == 1
    assert fate(journal).never_committed == 1
    assert fate(journal).forgotten_commits == 1


def test_what_a_killed_worker_held_is_followed_until_it_begins_again() -> None:
    journal = told(
        begun=[
            *((1, 102.0, 0), (2, 102.9, 0), (3, 102.9, 0)),
            *((2, 108.0, 2), (3, 107.5, 1)),
        ],
        ended=[(1, 102.1, 0), (3, 107.6, 1), (2, 108.1, 2), (4, 108.9, 1)],
        confirmed={1: 101.0, 2: 102.8, 3: 102.8, 4: 108.8},
    )

    it = orphans(journal, worker=0, phases=PHASES)

    assert it.in_flight == 2
    assert [round(seconds, 6) for seconds in it.begun_again] == [4.5, 5.0]
    assert (it.held_up, round(it.last_end, 6)) == (2, 5.1)


def test_an_orphan_that_nobody_takes_is_not_begun_again() -> None:
    journal = told(begun=[(1, 102.9, 0), (1, 102.9, 0)], confirmed={1: 102.0})

    it = orphans(journal, worker=0, phases=PHASES)

    assert (it.in_flight, it.begun_again, it.last_end) == (1, [], 0)


def test_tables_have_caught_up_when_the_backlog_was_above_the_bound_last() -> None:
    assert caught_up_after([(0.1, 3), (0.3, 9), (0.5, 6), (0.7, 5)], most=5) == 0.5
    assert caught_up_after([(0.1, 3), (0.3, 5)], most=5) == 0
    assert caught_up_after([(0.1, 3), (0.3, 6)], most=5) is None


def every(step: float, since: float, until: float) -> list[float]:
    return [since + n * step for n in range(round((until - since) / step))]


def told(
    begun: Iterable[tuple[int, float, int]] = (),
    ended: Iterable[tuple[int, float, int]] = (),
    **kept: Any,  # noqa: ANN401 - the other fields of a journal
) -> Journal:
    marks = {
        "begun": [Mark(*each) for each in begun],
        "ended": [Mark(*each) for each in ended],
    }
    return replace(NOTHING, **(marks | kept))
