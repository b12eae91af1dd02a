"""The life of one operation, as stories: what was, what is asked, what follows."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from domain.entitlement.state import Desired, Observed
from domain.errors import IllegalTransitionError
from domain.fulfillment.aggregate import (
    OPEN,
    FulfillmentOperation,
    Stage,
    decide,
    evolve,
)
from domain.fulfillment.commands import (
    Cancel,
    Cover,
    Fail,
    FailAttempt,
    FulfillmentCommand,
    Interrupt,
    Park,
    Request,
    Retry,
    StartAttempt,
    Succeed,
)
from domain.fulfillment.events import (
    AttemptFailed,
    AttemptStarted,
    Cancelled,
    Failed,
    FulfillmentEvent,
    Interrupted,
    Parked,
    Requested,
    Retried,
    Succeeded,
)

AT = datetime(2026, 8, 1, tzinfo=UTC)
DUE = AT + timedelta(seconds=10)
LATER = UUID(int=9)
DESIRED = Desired(ends_at=AT + timedelta(days=30))
SHOWN = Observed(
    panel_user_id=1,
    status="ACTIVE",
    expire_at=AT,
    traffic_limit_bytes=0,
    device_limit=0,
    squads=0,
)
REQUEST = Request(
    entitlement=UUID(int=1),
    order=UUID(int=2),
    operation="create",
    desired_version=3,
    desired=DESIRED,
    effective_at=AT,
    idempotency_key="order:o1:fulfill",
)
REQUESTED = Requested(
    entitlement=UUID(int=1),
    order=UUID(int=2),
    operation="create",
    desired_version=3,
    desired=DESIRED,
    effective_at=AT,
    idempotency_key="order:o1:fulfill",
)
START = StartAttempt(("find",))
FAIL_ATTEMPT = FailAttempt(code="remnawave_http_503", retry_at=DUE)
COVER = Cover(covered_by=LATER)

STARTED = AttemptStarted(attempt=1, calls=("find",))
ATTEMPT_FAILED = AttemptFailed(attempt=1, code="remnawave_http_503", retry_at=DUE)
INTERRUPTED = Interrupted(attempt=1, cause="lease_lost")
PARKED = Parked(cause="panel_credentials")
SUCCEEDED = Succeeded(attempt=1, observed=SHOWN)
FAILED = Failed(attempt=1, code="remnawave_http_400")
CANCELLED = Cancelled(code="operator", covered_by=None)
COVERED = Cancelled(code="covered_by", covered_by=LATER)

PENDING = (REQUESTED,)
RUNNING = (*PENDING, STARTED)
RETRYING = (*RUNNING, ATTEMPT_FAILED)
IS_PARKED = (*RUNNING, PARKED)
IS_FAILED = (*RUNNING, FAILED)

COMMANDS: list[FulfillmentCommand] = [
    REQUEST,
    START,
    FAIL_ATTEMPT,
    Interrupt("lease_lost"),
    Park("panel_credentials"),
    Succeed(SHOWN),
    Fail("remnawave_http_400"),
    Cancel(),
    COVER,
    Retry(),
]


def fold(events: tuple[FulfillmentEvent, ...]) -> FulfillmentOperation:
    operation = FulfillmentOperation()
    for event in events:
        operation = evolve(operation, event)
    return operation


STORIES: list[
    tuple[
        str,
        tuple[FulfillmentEvent, ...],
        FulfillmentCommand,
        tuple[FulfillmentEvent, ...],
    ]
] = [
    ("is asked for", (), REQUEST, (REQUESTED,)),
    ("begins", PENDING, START, (STARTED,)),
    (
        "begins again under the next number",
        RETRYING,
        START,
        (AttemptStarted(attempt=2, calls=("find",)),),
    ),
    ("is confirmed", RUNNING, Succeed(SHOWN), (SUCCEEDED,)),
    ("is refused for now", RUNNING, FAIL_ATTEMPT, (ATTEMPT_FAILED,)),
    ("loses its holder", RUNNING, Interrupt("lease_lost"), (INTERRUPTED,)),
    ("had no attempt to lose", PENDING, Interrupt("lease_lost"), ()),
    ("is parked", RUNNING, Park("panel_credentials"), (PARKED,)),
    ("is parked before an attempt", PENDING, Park("panel_credentials"), (PARKED,)),
    ("is parked already", IS_PARKED, Park("panel_credentials"), ()),
    (
        "is parked for another cause",
        IS_PARKED,
        Park("panel_configuration"),
        (Parked(cause="panel_configuration"),),
    ),
    (
        "is looked at again while it is parked",
        (*IS_PARKED, AttemptStarted(attempt=2, calls=("find",))),
        Park("panel_credentials"),
        (Interrupted(attempt=2, cause="panel_credentials"),),
    ),
    ("fails for good", RUNNING, Fail("remnawave_http_400"), (FAILED,)),
    (
        "fails unasked",
        PENDING,
        Fail("invalid_desired_state"),
        (Failed(attempt=0, code="invalid_desired_state"),),
    ),
    ("is cancelled while pending", PENDING, Cancel(), (CANCELLED,)),
    ("is cancelled while retrying", RETRYING, Cancel(), (CANCELLED,)),
    ("is cancelled after it failed", IS_FAILED, Cancel(), (CANCELLED,)),
    ("is cancelled already", (*PENDING, CANCELLED), Cancel(), ()),
    ("is covered while pending", PENDING, COVER, (COVERED,)),
    ("is covered while retrying", RETRYING, COVER, (COVERED,)),
    ("is revived", IS_FAILED, Retry(), (Retried(),)),
    ("is retried while it waits", RETRYING, Retry(), (Retried(),)),
    ("is retried while it is parked", IS_PARKED, Retry(), (Retried(),)),
]


@pytest.mark.parametrize(
    ("history", "command", "then"),
    [story[1:] for story in STORIES],
    ids=[story[0] for story in STORIES],
)
def test_an_operation(
    history: tuple[FulfillmentEvent, ...],
    command: FulfillmentCommand,
    then: tuple[FulfillmentEvent, ...],
) -> None:
    assert decide(fold(history), command) == then


REFUSALS: list[
    tuple[str, tuple[FulfillmentEvent, ...], list[type[FulfillmentCommand]]]
] = [
    ("unborn", (), [StartAttempt, Succeed, Fail, Cancel, Cover, Retry, Park]),
    ("pending", PENDING, [Request, Succeed, Retry]),
    ("running", RUNNING, [Request, StartAttempt, Cover, Retry]),
    ("retrying", RETRYING, [Request, Succeed]),
    ("failed", IS_FAILED, [Request, StartAttempt, Succeed, Fail, Cover, Park]),
]


@pytest.mark.parametrize(
    ("history", "commands"),
    [row[1:] for row in REFUSALS],
    ids=[row[0] for row in REFUSALS],
)
def test_what_makes_no_sense_at_a_stage_is_refused(
    history: tuple[FulfillmentEvent, ...], commands: list[type]
) -> None:
    for command in COMMANDS:
        if type(command) in commands:
            with pytest.raises(IllegalTransitionError):
                decide(fold(history), command)


@pytest.mark.parametrize("end", [SUCCEEDED, CANCELLED, COVERED])
def test_what_is_final_is_left_by_nobody(end: FulfillmentEvent) -> None:
    """I6."""
    ended = fold((*RUNNING, end))

    for command in COMMANDS:
        try:
            assert decide(ended, command) == ()
        except IllegalTransitionError:
            continue


def test_a_covered_operation_names_the_one_that_carries_it() -> None:
    state = fold((*PENDING, COVERED))

    assert (state.stage, state.code) == (Stage.CANCELLED, "covered_by")
    assert state.covered_by == LATER


def test_numbers_of_attempts_rise_over_a_retry() -> None:
    state = fold((*IS_FAILED, Retried()))

    assert decide(state, START) == (AttemptStarted(attempt=2, calls=("find",)),)
    assert state.stage is Stage.PENDING


@pytest.mark.parametrize("waiting", [RETRYING, IS_PARKED])
def test_a_retry_ends_the_waiting(waiting: tuple[FulfillmentEvent, ...]) -> None:
    state = fold((*waiting, Retried()))

    assert state.stage is Stage.PENDING
    assert (state.code, state.parked_cause, state.next_attempt_at) == (None,) * 3
    assert decide(state, START) == (AttemptStarted(attempt=2, calls=("find",)),)


def test_a_finished_attempt_ends_the_episode_of_parking() -> None:
    asked_again = (*IS_PARKED, AttemptStarted(attempt=2, calls=("find",)))
    failed = (*asked_again, AttemptFailed(attempt=2, code="c", retry_at=DUE))

    assert decide(fold(failed), Park("panel_credentials")) == (PARKED,)


def test_the_schedule_of_the_next_attempt_is_the_jobs() -> None:
    assert fold(RETRYING).next_attempt_at == DUE
    assert fold((*RETRYING, STARTED)).next_attempt_at is None


ANY_EVENT = st.sampled_from(
    [
        REQUESTED,
        STARTED,
        ATTEMPT_FAILED,
        INTERRUPTED,
        PARKED,
        SUCCEEDED,
        FAILED,
        CANCELLED,
        COVERED,
        Retried(),
    ]
)


@given(st.lists(ANY_EVENT, max_size=30))
def test_history_is_never_rejected(events: list[FulfillmentEvent]) -> None:
    assert fold(tuple(events)).version == len(events)


class OperationMachine(RuleBasedStateMachine):
    """Whatever order callers act in, no rule of the drawing is broken."""

    def __init__(self) -> None:
        super().__init__()
        self.operation = FulfillmentOperation()
        self.finals = 0

    @rule(command=st.sampled_from(COMMANDS))
    def act(self, command: FulfillmentCommand) -> None:
        before = self.operation
        try:
            events = decide(before, command)
        except IllegalTransitionError:
            return
        for event in events:
            self.operation = evolve(self.operation, event)
            self.finals += isinstance(event, Succeeded | Cancelled)
        assert self.operation.version == before.version + len(events)
        assert self.operation.attempts >= before.attempts
        if isinstance(command, Succeed):
            assert before.stage is Stage.RUNNING

    @invariant()
    def it_ends_at_most_once(self) -> None:
        final = self.operation.stage in {Stage.SUCCEEDED, Stage.CANCELLED}
        assert self.finals == int(final)

    @invariant()
    def what_is_dead_says_why(self) -> None:
        if self.operation.stage in {Stage.FAILED, Stage.CANCELLED}:
            assert self.operation.code
            assert self.operation.next_attempt_at is None

    @invariant()
    def only_what_is_open_is_parked(self) -> None:
        if self.operation.parked_cause is not None:
            assert self.operation.stage in OPEN

    @invariant()
    def only_a_covered_one_names_another(self) -> None:
        covered = self.operation.code == "covered_by"
        assert (self.operation.covered_by is not None) == covered


TestOperationMachine = OperationMachine.TestCase
