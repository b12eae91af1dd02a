"""Whatever order callers act in, the life of a job keeps its promises."""

from datetime import timedelta

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
)

from domain.errors import IllegalTransitionError
from domain.jobs.aggregate import (
    Cancel,
    Job,
    JobCommand,
    RetryDead,
    Stage,
    decide,
    evolve,
    fold,
)
from domain.jobs.events import Claimed, JobEvent, Succeeded
from domain.jobs.gates import WHEN_OPENED, Unpark, unpark
from domain.jobs.outcome import (
    Ambiguous,
    Completed,
    Fail,
    Gated,
    Park,
    Retry,
    Snooze,
)
from domain.jobs.outcome import Cancel as Cancelling
from domain.jobs.verdict import (
    Budget,
    Ending,
    Interrupted,
    LeaseLost,
    Moment,
    Unfit,
    before_run,
    settle,
)
from tests.domain.jobs.stages import CLAIM, NOW, enqueued

MAX_ATTEMPTS = 4
BUDGET = Budget(max_attempts=MAX_ATTEMPTS)
words = st.text(max_size=12)
endings: st.SearchStrategy[Ending] = st.one_of(
    st.just(Completed()),
    st.builds(
        Retry,
        code=words,
        error=words,
        not_before_seconds=st.none() | st.floats(),
    ),
    st.builds(
        Snooze,
        until=st.timedeltas(timedelta(-9), timedelta(9)).map(lambda away: NOW + away),
    ),
    st.builds(Park, cause=words),
    st.builds(Gated, gate=words, cause=words),
    st.builds(Fail, code=words),
    st.builds(Cancelling, code=words),
    st.builds(Ambiguous, code=words),
    st.builds(Interrupted, cause=words, wait_seconds=st.floats(0, 9)),
    st.builds(
        LeaseLost,
        cause=words,
        call_began=st.booleans(),
        died=st.booleans(),
        was_only=st.booleans(),
    ),
)
FREE = (Snooze, Park, Gated, Interrupted, Unfit)


class JobLife(RuleBasedStateMachine):
    """Commands, endings and revivals in any order, against an independent count."""

    def __init__(self) -> None:
        super().__init__()
        self.job = Job()
        self.events: list[JobEvent] = []
        self.tokens: list[int] = []
        self.spent = 0
        self.now = NOW

    def write(self, events: tuple[JobEvent, ...]) -> None:
        for event in events:
            before = self.job
            self.job = evolve(before, event)
            self.events.append(event)
            assert self.job.version == before.version + 1

    def attempt_command(self, command: JobCommand, *allowed: Stage) -> bool:
        stage = self.job.stage
        try:
            events = decide(self.job, command)
        except IllegalTransitionError:
            assert stage not in allowed
            return False
        assert not events or stage in allowed
        self.write(events)
        return bool(events)

    @rule()
    def enqueue(self) -> None:
        self.attempt_command(enqueued(), Stage.UNBORN)

    @rule()
    def claim(self) -> None:
        if self.attempt_command(CLAIM, Stage.WAITING):
            assert isinstance(self.events[-1], Claimed)
            self.tokens.append(self.events[-1].token)
            self.spent += 1
            assert self.events[-1].token == len(self.events)

    @rule()
    def cancel(self) -> None:
        self.attempt_command(Cancel(), Stage.WAITING, Stage.RUNNING)

    @rule()
    def retry(self) -> None:
        asked = RetryDead(run_at=self.now)
        if self.attempt_command(asked, Stage.DISCARDED, Stage.CANCELLED):
            self.spent = 0

    @precondition(lambda self: self.job.stage is Stage.WAITING)
    @rule()
    def unpark(self) -> None:
        gate = self.job.gate
        events = unpark(self.job, Unpark(run_at=self.now))
        assert bool(events) == (gate is not None)
        self.write(events)
        assert self.job.gate is None

    @rule(by=st.timedeltas(timedelta(0), timedelta(hours=1)))
    def wait(self, by: timedelta) -> None:
        self.now += by

    @precondition(lambda self: self.job.stage is Stage.RUNNING)
    @rule(ending=endings, spin=st.floats(-1, 1))
    def end(self, ending: Ending, spin: float) -> None:
        before = self.job
        unfit = before_run(before, BUDGET, self.now)
        said = ending if unfit is None else unfit
        asked_to_stop = before.cancel_requested
        self.write(settle(before, said, BUDGET, Moment(self.now, spin)))
        free = isinstance(said, FREE) or (
            isinstance(said, LeaseLost) and not said.call_began
        )
        if free and not (asked_to_stop and self.job.stage is Stage.CANCELLED):
            self.spent -= 1
        if asked_to_stop:
            assert self.job.stage is not Stage.WAITING
            assert (self.job.stage is Stage.SUCCEEDED) == isinstance(said, Completed)
        if self.job.stage is Stage.WAITING:
            assert self.job.run_at is not None
            assert self.job.run_at >= self.now

    @invariant()
    def attempts_are_exact(self) -> None:
        """I3."""
        assert self.job.attempt == self.spent
        assert self.job.attempt <= MAX_ATTEMPTS + 1

    @invariant()
    def only_who_waits_at_a_gate_waits_for_ever(self) -> None:
        held = self.job.gate is not None
        waits = self.job.stage is Stage.WAITING
        assert held == (waits and self.job.run_at == WHEN_OPENED)

    @invariant()
    def crashes_are_bounded(self) -> None:
        """S6."""
        assert 0 <= self.job.crashes < BUDGET.max_crashes

    @invariant()
    def tokens_rise(self) -> None:
        """I4."""
        assert self.tokens == sorted(set(self.tokens))
        running = self.job.stage is Stage.RUNNING
        assert self.job.token == (self.tokens[-1] if running else None)
        assert (self.job.owner is not None) == running

    @invariant()
    def nothing_follows_a_success(self) -> None:
        """I6."""
        successes = [each for each in self.events if isinstance(each, Succeeded)]
        assert len(successes) <= 1
        assert not successes or self.events[-1] is successes[0]

    @invariant()
    def the_state_is_the_fold_of_the_events(self) -> None:
        assert fold(self.events) == self.job
        assert self.job.version == len(self.events)


TestJobLife = JobLife.TestCase
TestJobLife.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
