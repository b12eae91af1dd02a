"""One run: what must not begin, how long it may take, and what it may say."""

from collections.abc import Callable

import pytest

from application.context import Context
from application.job_kinds import by_name, grace_seconds_of
from domain.jobs.outcome import Completed, Outcome, Retry
from domain.jobs.verdict import Ending, Interrupted, Unfit
from infrastructure.errors import DatabaseUnavailableError
from infrastructure.processor.leases import Held, Leases
from infrastructure.processor.running import RunContext, run
from tests.fixtures.workers import Args, kind
from tests.processor.claims import claimed

type Handler = Callable[[Args, Context], Outcome]


GONE = DatabaseUnavailableError("gone")


class Clock:
    """Boot time that the test moves."""

    def __init__(self) -> None:
        self.at = 1_000.0

    def __call__(self) -> float:
        return self.at


class Run:
    """One claimed job in one process, on a clock of the test."""

    def __init__(self, handler: Handler, **more: object) -> None:
        self.clock = Clock()
        self.leases = Leases(self.clock)
        self.begun = False
        self.handler = handler
        made = kind("noop", self.handle, lease_seconds=60, deadline_seconds=30)
        (self.held,) = self.leases.take([(claimed(**more), made)], self.clock())
        self.context = RunContext(self.held, self.leases)

    def handle(self, args: Args, context: Context) -> Outcome:
        self.begun = True
        return self.handler(args, context)

    def __call__(self) -> Ending:
        return run(self.held, self.leases)


def done(_args: Args, _ctx: Context) -> Outcome:
    return Completed()


def test_a_run_that_finds_everything_well_is_handled() -> None:
    assert Run(done)() == Completed()


def test_i4_a_job_whose_lease_has_ended_in_the_buffer_does_not_begin() -> None:
    """A frozen process wakes with a buffer full of other people's jobs."""
    late = Run(done)
    late.clock.at += 60

    assert late() == Interrupted(cause="lease_lost")
    assert not late.begun


def test_i4_a_job_that_is_known_to_be_lost_does_not_begin() -> None:
    lost = Run(done)
    lost.held.is_lost = True

    assert lost() == Interrupted(cause="lease_lost")
    assert not lost.begun


def test_a_job_that_is_to_be_cancelled_does_not_begin() -> None:
    unwanted = Run(done)
    unwanted.held.cancel_requested = True

    assert unwanted() == Interrupted(cause="cancel_requested")
    assert not unwanted.begun


@pytest.mark.parametrize(
    "args", ['{"n": "text"}', "[]", "{", '{"n": 1.5}', "[" * 100_000]
)
def test_arguments_that_do_not_fit_are_undecodable(args: str) -> None:
    odd = Run(done, args=args)

    ending = odd()

    assert isinstance(ending, Unfit)
    assert ending.code == "undecodable"
    assert not odd.begun


def test_s3_no_call_begins_that_could_outlast_the_lease() -> None:
    """The worker stops by itself before the database ends its lease."""
    held = Run(done)
    held.held.begun_at = held.clock()

    assert held.context.may_begin()  # the deadline of 30 s is the nearer end
    held.clock.at += 20
    assert held.context.seconds_left == 10
    assert not held.context.may_begin()
    held.clock.at += 40
    assert held.context.seconds_left == 0


def test_s3_the_belief_in_a_lease_ends_before_the_lease() -> None:
    """It counts from before the confirmation was sent."""
    held = Run(done)
    held.held.begun_at = held.clock() + 55  # the lease is the nearer end

    held.clock.at += 51
    assert held.context.seconds_left == 9
    assert not held.context.may_begin()


def test_a_run_that_was_ended_by_others_has_no_time_left() -> None:
    ended = Run(done)
    ended.held.begun_at = ended.clock()
    assert ended.held.end()

    assert not ended.held.end()
    assert ended.context.seconds_left == 0
    assert not ended.context.may_begin()


def test_a_job_is_not_given_back_once_it_has_asked_a_provider() -> None:
    asked = Run(done)
    asked.held.begun_at = asked.clock()
    assert asked.context.may_begin()

    assert not asked.held.end_unless_called()
    assert not asked.held.is_ended


def test_a_job_that_was_given_back_asks_no_provider() -> None:
    stopped = Run(done)
    stopped.held.begun_at = stopped.clock()
    assert stopped.held.end_unless_called()

    assert not stopped.context.may_begin()
    assert not stopped.held.called_provider


def test_a_database_that_is_away_costs_an_attempt_only_after_a_call() -> None:
    def loses(_args: Args, _ctx: Context) -> Outcome:
        raise GONE

    def asks_and_loses(_args: Args, ctx: Context) -> Outcome:
        assert ctx.may_begin()
        raise GONE

    assert isinstance(Run(loses)(), Interrupted)
    assert isinstance(Run(asks_and_loses)(), Retry)


def test_what_a_crash_says_is_redacted_and_short() -> None:
    def crash(_args: Args, _ctx: Context) -> Outcome:
        msg = "password=hunter2, " + "x" * 2_000
        raise RuntimeError(msg)

    ending = Run(crash)()

    assert isinstance(ending, Retry)
    assert ending.code == "handler_crashed"
    assert "hunter2" not in ending.error
    assert len(ending.error) <= 500


@pytest.mark.parametrize("lease_seconds", [0, 34, -5])
def test_a_lease_that_one_slow_call_could_outlast_is_refused(
    lease_seconds: int,
) -> None:
    """Mechanisms 23: at least call + heartbeat + 10 s."""
    with pytest.raises(ValueError, match="lease_seconds must be at least 35"):
        kind("hasty", done, lease_seconds=lease_seconds, call_seconds=10)


def test_the_process_holds_what_it_claimed_until_it_is_dropped() -> None:
    held = Run(done)
    other: Held = held.held
    (again,) = held.leases.take([(other.job, other.kind)], held.clock())

    held.leases.drop([other])  # an older claim of the same job
    assert held.leases.all() == [again]
    held.leases.drop([again])
    assert held.leases.wait_empty(0)


def test_the_grace_of_a_worker_outlasts_the_longest_call_of_its_kinds() -> None:
    slow = kind("slow", done, lease_seconds=150, call_seconds=90)

    assert grace_seconds_of(by_name(kind("quick", done))) == 25
    assert grace_seconds_of(by_name(kind("quick", done), slow)) == 105
