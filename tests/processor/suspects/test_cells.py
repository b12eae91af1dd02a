"""A suspect in a process of its own: whatever it does there, its worker lives on."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from domain.jobs.outcome import Completed, Fail, Retry
from domain.jobs.verdict import Ending, Interrupted, LeaseLost, Unfit
from infrastructure.processor.leases import Held, Leases
from infrastructure.processor.suspects.cells import Cells
from infrastructure.telemetry import listen
from tests.fixtures.workers import Events, kind, until
from tests.processor.claims import claimed
from tests.processor.rig import done
from tests.processor.suspects.recipes import recipe


class Prison:
    """The worker's side of cells, without a database."""

    def __init__(self, function: str = "all_kinds") -> None:
        self.leases = Leases()
        self.cells = Cells(recipe(function), self.leases)

    def hold(self, name: str, args: str = "{}", **more: Any) -> Held:  # noqa: ANN401 - of the kind
        made = kind(name, done, **more)
        pairs = [(claimed(kind=name, args=args), made)]
        (held,) = self.leases.take(pairs, self.leases.now(), alone=True)
        return held

    def __call__(self, name: str, args: str = "{}", **more: Any) -> Ending:  # noqa: ANN401 - of the kind
        return self.cells.run(self.hold(name, args, **more))


type Open = Callable[..., Prison]


@pytest.fixture
def opened() -> Iterator[Open]:
    prisons: list[Prison] = []

    def open_(function: str = "all_kinds") -> Prison:
        prisons.append(Prison(function))
        return prisons[-1]

    yield open_
    for each in prisons:
        each.cells.close()


@pytest.fixture(scope="module")
def prison() -> Iterator[Prison]:
    """One for all: what a suspect does to it must not be felt by the next."""
    made = Prison()
    yield made
    made.cells.close()


@pytest.fixture
def events() -> Iterator[Events]:
    seen = Events()
    with listen(seen.add):
        yield seen


def test_a_suspect_is_handled_in_a_process_of_its_own(prison: Prison) -> None:
    held = prison.hold("done", '{"n": 7}')

    first, again = prison.cells.run(held), prison("done")

    assert isinstance(first, Completed)
    assert isinstance(again, Completed)
    told, other = first.result or {}, again.result or {}
    assert told["n"] == 7
    assert len({told["pid"], other["pid"], os.getpid()}) == 3
    assert (told["job"], told["token"]) == (str(held.job.id), held.job.token)
    assert (told["attempt"], told["tenant"]) == (1, "default")
    assert told["threads"] == 1
    assert held.begun_at is not None


DEATHS = {
    "exits": "exit code 7",
    "segfaults": "signal 11",
    "aborts": "signal 6",
    "kills_itself": "signal 9",
    "kills_its_parent": "signal 9",  # the keeper, of whom the forker tells
    "closes_every_file": "signal 9",  # it can tell nobody anything, and is ended
}


@pytest.mark.parametrize(("way", "how"), DEATHS.items())
def test_s6_what_ends_its_cell_has_proved_it(
    way: str, how: str, prison: Prison, events: Events
) -> None:
    died = prison(way)

    assert died == LeaseLost(cause="process_gone", died=True, was_only=True, how=how)
    assert [each["how"] for each in events.of("suspect died")] == [how]
    assert isinstance(prison("done"), Completed)


def test_i3_it_is_known_whether_a_provider_had_been_asked(prison: Prison) -> None:
    died = prison("asks_and_exits")

    assert isinstance(died, LeaseLost)
    assert died.call_began


def test_what_ends_the_forker_too_ends_no_worker(prison: Prison) -> None:
    died = prison("kills_its_grandparent")

    assert isinstance(died, LeaseLost)
    assert died.died
    assert isinstance(prison("done"), Completed)


def test_of_several_that_die_with_the_forker_nobody_is_proved_to_have_done_it(
    prison: Prison,
) -> None:
    held = prison.hold("waits_for_a_cancel")
    thread, said = in_a_thread(lambda: prison.cells.run(held))
    until(held.take_progress)

    culprit = prison("kills_its_grandparent")
    thread.join(30)

    assert isinstance(culprit, Interrupted)
    assert isinstance(said[0], Interrupted)
    assert isinstance(prison("kills_its_grandparent"), LeaseLost)


def test_an_exception_that_ends_processes_ends_a_run(prison: Prison) -> None:
    left = prison("leaves")

    assert isinstance(left, Retry)
    assert left.code == "handler_crashed"


def test_memory_that_is_not_to_be_had_is_an_error(prison: Prison) -> None:
    hungry = prison("eats_memory")

    assert isinstance(hungry, Retry)
    assert "MemoryError" in hungry.error


@pytest.mark.parametrize("way", ["loops", "holds_the_interpreter"])
def test_an_endless_loop_ends_at_the_hard_deadline(way: str, prison: Prison) -> None:
    looping = prison(way, deadline_seconds=1)

    assert looping == Retry(code="handler_timeout", error="the hard deadline passed")


def test_a_thread_that_is_left_behind_ends_with_its_cell(prison: Prison) -> None:
    assert prison("leaves_a_thread") == Completed()


def test_rubbish_on_the_wire_is_no_ending(prison: Prison) -> None:
    assert isinstance(prison("writes_rubbish"), LeaseLost)
    assert isinstance(prison("done"), Completed)


def test_a_result_that_is_too_large_never_comes_out(prison: Prison) -> None:
    large = prison("huge")

    assert isinstance(large, Fail)
    assert large.code == "unstorable_result"


def test_what_a_handler_raises_comes_out_clean(prison: Prison, events: Events) -> None:
    raised = prison("raises")

    assert isinstance(raised, Retry)
    assert raised.code == "handler_crashed"
    assert "hunter2" not in raised.error
    assert "\0" not in raised.error
    assert len(events.of("handler crashed")) == 1


def test_a_database_that_a_handler_lost_costs_nothing(prison: Prison) -> None:
    assert isinstance(prison("loses_the_database"), Interrupted)


def test_arguments_that_do_not_fit_are_undecodable(prison: Prison) -> None:
    odd = prison("done", '{"n": "text"}')

    assert isinstance(odd, Unfit)
    assert odd.code == "undecodable"


def test_progress_questions_and_log_lines_pass_through(
    prison: Prison, events: Events
) -> None:
    held = prison.hold("chatty")
    held.cancel_requested = False

    said = prison.cells.run(held)

    assert isinstance(said, Completed)
    told = said.result or {}
    assert 0 < float(str(told["left"])) <= 60
    assert (told["asked"], told["may"]) == (False, True)
    assert held.called_provider
    assert held.take_progress() == '{"done":99,"text":"a\ufffdb\ufffd"}'
    (line,) = events.of("halfway")
    assert (line["job"], line["share"]) == (str(held.job.id), 0.5)


def in_a_thread(work: Callable[[], Ending]) -> tuple[threading.Thread, list[Ending]]:
    said: list[Ending] = []
    thread = threading.Thread(target=lambda: said.append(work()), daemon=True)
    thread.start()
    return thread, said


def test_s20_a_cancel_request_is_known_at_the_next_question(prison: Prison) -> None:
    held = prison.hold("waits_for_a_cancel")
    thread, said = in_a_thread(lambda: prison.cells.run(held))
    until(held.take_progress)

    held.cancel_requested = True
    thread.join(30)

    assert said == [Retry(code="stopped")]


@pytest.mark.parametrize("member", ["is_lost", "is_ended"])
def test_i4_a_run_that_is_over_for_us_is_killed(member: str, prison: Prison) -> None:
    """Its lease was lost, or it was given back: nothing of it may go on."""
    held = prison.hold("loops")
    thread, said = in_a_thread(lambda: prison.cells.run(held))
    until(lambda: held.begun_at)

    setattr(held, member, True)
    thread.join(30)

    assert said == [Interrupted(cause="lease_lost")]


def test_a_claim_that_must_not_run_gets_no_cell(prison: Prison) -> None:
    held = prison.hold("done")
    held.is_lost = True

    assert prison.cells.run(held) == Interrupted(cause="lease_lost")
    assert held.begun_at is None


@pytest.mark.parametrize("function", ["no_kinds", "no_database", "dies_in_the_making"])
def test_a_cell_that_cannot_be_made_proves_nothing(
    function: str, opened: Open, events: Events
) -> None:
    given_back = opened(function)("done")

    assert isinstance(given_back, Interrupted)
    assert given_back.wait_seconds > 0
    assert events.of("cell not ready")


def test_a_forker_that_was_killed_is_started_again(prison: Prison) -> None:
    first = prison("done")
    assert isinstance(first, Completed)
    forker = prison.cells.forker_pid
    assert forker is not None

    os.kill(forker, signal.SIGKILL)
    os.waitid(os.P_PID, forker, os.WEXITED | os.WNOWAIT)

    assert isinstance(prison("done"), Completed)
    assert prison.cells.forker_pid != forker


def test_several_cells_stand_side_by_side_and_one_death_is_one_death(
    prison: Prison,
) -> None:
    held = prison.hold("waits_for_a_cancel")
    thread, said = in_a_thread(lambda: prison.cells.run(held))
    until(held.take_progress)

    assert isinstance(prison("segfaults"), LeaseLost)
    assert isinstance(prison("done"), Completed)
    held.cancel_requested = True
    thread.join(30)

    assert said == [Retry(code="stopped")]
