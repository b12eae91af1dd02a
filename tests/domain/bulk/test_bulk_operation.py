"""The life of a bulk operation, in whatever order people act."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.bulk.aggregate import FINAL, BulkOperation, Stage, decide, evolve, fold
from domain.bulk.commands import (
    Approve,
    BulkCommand,
    Cancel,
    Finish,
    Freeze,
    Pause,
    Preview,
    Request,
    Resume,
    Start,
    Tally,
)
from domain.bulk.errors import SelfApprovalError
from domain.bulk.events import (
    Approved,
    BulkEvent,
    Cancelled,
    Finished,
    Paused,
    Resumed,
    Started,
)
from domain.errors import IllegalTransitionError
from domain.event import Actor
from tests.golden.pinned_bulk import BULK, PREVIEW, RUN

OLGA, BORIS = Actor("operator", "olga"), Actor("operator", "boris")


def requested(*, most: int = 1_000, filter_: str | None = None) -> Request:
    return Request(
        action="retry",
        items_per_second=20.0,
        most_items=most,
        most_unapproved=min(most, 10),
        requested_by=OLGA,
        reason="the panel is back",
        job=PREVIEW,
        filter=filter_,
    )


def given_(*commands: BulkCommand) -> BulkOperation:
    """Return an operation after commands, each of which was carried out."""
    bulk = BulkOperation()
    for command in commands:
        bulk = fold(decide(bulk, command), bulk)
    return bulk


def ready(items: int = 3) -> tuple[BulkCommand, ...]:
    return requested(), Freeze(items=items), Preview({"would_retry": items})


def test_a_few_items_need_nobody_elses_approval() -> None:
    assert given_(*ready(10)).stage is Stage.READY


def test_many_items_wait_for_another_person() -> None:
    bulk = given_(*ready(11))

    assert bulk.stage is Stage.AWAITING_APPROVAL
    with pytest.raises(SelfApprovalError, match="somebody else"):
        decide(bulk, Approve(OLGA))
    with pytest.raises(IllegalTransitionError):
        decide(bulk, Start(RUN))
    assert decide(bulk, Approve(BORIS)) == (Approved(approved_by=BORIS),)
    assert given_(*ready(11), Approve(BORIS)).stage is Stage.READY


def test_more_than_there_may_be_is_cancelled_when_it_is_known() -> None:
    events = decide(given_(requested()), Freeze(items=1_001, position=7))

    assert events == (Cancelled(code="bulk_limit", done=0, refused=0, left=0),)


def test_nothing_is_previewed_before_it_is_chosen() -> None:
    with pytest.raises(IllegalTransitionError):
        decide(given_(requested()), Preview({}))


def test_what_was_chosen_is_chosen_once() -> None:
    bulk = given_(requested(), Freeze(items=2))

    assert decide(bulk, Freeze(items=3)) == ()


def test_it_runs_is_paused_and_goes_on() -> None:
    running = given_(*ready(), Start(RUN))

    assert decide(running, Pause()) == (Paused(code="operator"),)
    paused = given_(*ready(), Start(RUN), Pause("budget_spent"))
    assert (paused.stage, paused.code) == (Stage.PAUSED, "budget_spent")
    assert decide(paused, Resume(PREVIEW)) == (Resumed(job=PREVIEW),)
    again = given_(*ready(), Start(RUN), Pause(), Resume(PREVIEW))
    assert (again.stage, again.code, again.job) == (Stage.RUNNING, None, PREVIEW)


def test_a_cancel_says_how_many_were_left() -> None:
    bulk = given_(*ready(9), Start(RUN))

    events = decide(bulk, Cancel(tally=Tally(done=3, refused=2)))

    assert events == (Cancelled(code="operator", done=3, refused=2, left=4),)


def test_it_ends_with_what_became_of_its_items() -> None:
    bulk = given_(*ready(3), Start(RUN))

    events = decide(bulk, Finish(tally=Tally(done=2, refused=1)))

    assert events == (Finished(done=2, refused=1),)


@pytest.mark.parametrize(
    ("before", "again"),
    [
        ((*ready(), Start(RUN)), Start(PREVIEW)),
        ((*ready(), Start(RUN), Finish(tally=Tally(done=3))), Start(PREVIEW)),
        ((*ready(), Start(RUN), Finish(tally=Tally(done=3))), Finish(tally=Tally())),
        ((*ready(), Start(RUN), Pause()), Pause()),
        ((*ready(), Start(RUN)), Resume(PREVIEW)),
        ((*ready(), Cancel(tally=Tally())), Cancel(tally=Tally())),
        ((*ready(11), Approve(BORIS)), Approve(BORIS)),
        ((*ready(11), Approve(BORIS), Start(RUN)), Approve(BORIS)),
    ],
)
def test_what_is_so_already_is_no_new_fact(
    before: tuple[BulkCommand, ...], again: BulkCommand
) -> None:
    assert decide(given_(*before), again) == ()


COMMANDS = st.one_of(
    st.builds(requested, most=st.integers(0, 30)),
    st.builds(Freeze, items=st.integers(0, 40)),
    st.just(Preview({"would_retry": 1})),
    st.sampled_from([OLGA, BORIS]).map(Approve),
    st.just(Start(RUN)),
    st.sampled_from(["operator", "budget_spent"]).map(Pause),
    st.just(Resume(PREVIEW)),
    st.builds(Cancel, tally=st.just(Tally())),
    st.builds(Finish, tally=st.builds(Tally, done=st.integers(0, 3))),
)


@given(st.lists(COMMANDS, max_size=25))
def test_whatever_is_asked_in_whatever_order_keeps_the_rules(
    commands: list[BulkCommand],
) -> None:
    bulk, log = BulkOperation(), list[BulkEvent]()
    for command in commands:
        before = bulk
        try:
            events = decide(bulk, command)
        except (IllegalTransitionError, SelfApprovalError):
            continue
        log += events
        bulk = fold(events, bulk)
        if events and not isinstance(command, Request | Preview | Freeze):
            assert decide(bulk, command) == ()
        assert before.stage not in FINAL or not events, "final is final"
        if any(isinstance(event, Started | Resumed) for event in events):
            assert bulk.is_frozen
            assert bulk.items <= bulk.most_items
            is_free = bulk.items <= bulk.most_unapproved
            assert is_free or bulk.approved_by not in {None, bulk.requested_by}
    assert fold(log) == bulk
    assert bulk.version == len(log)


@given(st.lists(st.sampled_from(BULK), max_size=12))
def test_history_is_never_rejected(events: list[Any]) -> None:
    bulk = BulkOperation()
    for event in events:
        bulk = evolve(bulk, event)
    assert bulk.version == len(events)
