"""`counterfoil.testing.run`: what a test of a handler sees, and what it refuses."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import msgspec
import pytest

from counterfoil import (
    Backoff,
    Budget,
    Cancel,
    Completed,
    Context,
    Fail,
    InvalidRequestError,
    JobKind,
    Outcome,
    Park,
    Retry,
    Snooze,
)
from counterfoil.testing import Interrupted, Unfit, run
from domain.jobs import events
from domain.stream import Change, Ref, StreamKind
from infrastructure.ids import new_id

NOW = datetime(2026, 8, 1, 12, tzinfo=UTC)
TEN_SECONDS = timedelta(seconds=10)


class Args(msgspec.Struct, frozen=True):
    n: int = 0
    at: datetime | None = None


type Handler = Callable[[Args, Context], Outcome]


def kind(handler: Handler, **more: Any) -> JobKind[Args]:  # noqa: ANN401 - fields of a kind
    return JobKind(name="acme.mail", args=Args, handler=handler, **more)


def says(outcome: Outcome) -> Handler:
    return lambda _args, _ctx: outcome


def test_a_completed_run_is_told_whole() -> None:
    ended = run(kind(lambda args, _: Completed(result={"n": args.n})), Args(7))

    assert ended.outcome == Completed(result={"n": 7})
    assert ended.event == events.Succeeded(attempt=1, token=2, result={"n": 7})
    assert (ended.state, ended.attempt, ended.next_run_at) == ("succeeded", 1, None)
    assert (ended.progress, ended.log, ended.asked, ended.exception) == (
        (),
        (),
        (),
        None,
    )


def test_the_next_run_is_told_by_the_kinds_own_backoff() -> None:
    budget = Budget(max_attempts=9, backoff=Backoff(base_seconds=1.0, cap_exponent=2))
    again = kind(says(Retry(code="busy")), budget=budget)

    pauses = [
        (ended.next_run_at or NOW) - NOW
        for ended in (run(again, attempt=n, now=NOW) for n in (1, 2, 3))
    ]

    assert pauses == [timedelta(seconds=n) for n in (2, 4, 4)]


def test_the_last_attempt_is_the_last() -> None:
    again = kind(says(Retry(code="busy", error="not now")))

    last, beyond = run(again, attempt=3), run(again, attempt=4)

    assert (last.state, last.code, last.error_code) == (
        "discarded",
        "budget_spent",
        "busy",
    )
    assert last.next_run_at is None
    assert isinstance(beyond.outcome, Unfit)
    assert (beyond.outcome.code, beyond.attempt) == ("budget_spent", 3)


def test_what_costs_no_attempt_gives_it_back() -> None:
    later = NOW + timedelta(days=1)

    snoozed = run(kind(says(Snooze(until=later))), attempt=2, now=NOW)
    parked = run(kind(says(Park(cause="closed"))), attempt=2, now=NOW)

    assert (snoozed.attempt, snoozed.next_run_at) == (1, later)
    assert (parked.attempt, parked.next_run_at) == (1, NOW + TEN_SECONDS)


def test_without_now_the_instants_are_those_of_the_test() -> None:
    before = datetime.now(UTC)

    ended = run(kind(says(Retry(code="busy"))))

    assert before <= ended.at <= datetime.now(UTC)
    assert ended.next_run_at == ended.at + TEN_SECONDS


def test_arguments_are_decoded_as_a_worker_decodes_them() -> None:
    seen: list[Args] = []

    def note(args: Args, _ctx: Context) -> Outcome:
        seen.append(args)
        return Completed()

    for args in (Args(1, NOW), {"n": 1, "at": NOW}, {"n": 1, "at": NOW, "new": [True]}):
        assert run(kind(note), args).state == "succeeded"
    assert run(kind(note)).state == "succeeded"

    assert seen == [Args(1, NOW), Args(1, NOW), Args(1, NOW), Args()]


@pytest.mark.parametrize("args", [{"n": "1"}, {"n": 1.5}, {"n": None}, {"at": "soon"}])
def test_arguments_that_do_not_fit_are_a_dead_letter(args: dict[str, object]) -> None:
    ended = run(kind(says(Completed())), args)

    assert isinstance(ended.outcome, Unfit)
    assert (ended.state, ended.code, ended.attempt) == ("discarded", "undecodable", 0)


@pytest.mark.parametrize(
    ("args", "path"),
    [
        ({"n": "\0"}, "args.n"),
        ({"n": float("nan")}, "args.n"),
        ({"n": object()}, "args.n"),
        ({"at": datetime(2026, 8, 1)}, "args.at"),  # noqa: DTZ001 - naive on purpose
        ({"text": "x" * 262_144}, "args"),
    ],
)
def test_arguments_that_could_not_be_enqueued_are_refused(
    args: dict[str, object], path: str
) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        run(kind(says(Completed())), args)

    assert refused.value.path == path


@pytest.mark.parametrize(
    ("scene", "told"),
    [
        ({"attempt": 0}, "attempt: a whole number from 1"),
        ({"attempt": "2"}, "attempt: a whole number from 1"),
        ({"cancel_after": -1}, "cancel_after: a whole number from 0"),
        ({"now": datetime(2026, 8, 1)}, "now: an instant with its offset"),  # noqa: DTZ001 - naive on purpose
    ],
)
def test_a_scene_that_no_worker_meets_is_refused(
    scene: dict[str, Any], told: str
) -> None:
    with pytest.raises(ValueError, match=told):
        run(kind(says(Completed())), **scene)


def test_what_is_no_kind_is_refused_by_name() -> None:
    def kinds(_settings: object) -> None: ...

    with pytest.raises(TypeError, match="function is no JobKind; call what makes it"):
        run(cast("Any", kinds))


def test_an_exception_is_a_crash_and_is_there_to_be_looked_at() -> None:
    error = KeyError("password=hunter2")

    def crash(_args: Args, _ctx: Context) -> Outcome:
        raise error

    ended = run(kind(crash))

    assert isinstance(ended.outcome, Retry)
    assert ended.error_code == "handler_crashed"
    assert "hunter2" not in ended.outcome.error
    assert ended.exception is error


@pytest.mark.parametrize(
    "answer", [None, "done", Completed, Retry(code=cast("str", 3))]
)
def test_what_is_no_outcome_is_a_crash(answer: object) -> None:
    ended = run(kind(says(cast("Outcome", answer))))

    assert (ended.state, ended.error_code) == ("waiting", "handler_crashed")


@pytest.mark.parametrize(
    "result",
    [
        {"text": "a\0b"},
        {"a\0b": 1},
        {"list": [{"deep": "\0"}]},
        {"text": "\ud800"},
        {"object": object()},
    ],
)
def test_a_result_that_cannot_be_stored_is_dead(result: dict[str, object]) -> None:
    ended = run(kind(says(Completed(result=result))), cancel_after=0)

    assert isinstance(ended.outcome, Fail)
    assert (ended.state, ended.code) == ("discarded", "unstorable_result")


def test_an_error_is_always_storable() -> None:
    ended = run(kind(says(Fail(code="no\0", error="a\0b\ud800 " + "x" * 1_000))))

    assert isinstance(ended.event, events.Discarded)
    assert ended.event.error.startswith("a\ufffdb\ufffd x")
    assert len(ended.event.error) == 500
    assert ended.error_code == "no\ufffd"


def test_progress_log_and_questions_are_written_down() -> None:
    def work(_args: Args, ctx: Context) -> Outcome:
        page: dict[str, object] = {"page": 1}
        ctx.progress(page)
        page["page"] = 2
        ctx.progress(page)
        ctx.log("page read", rows=3, last=None)
        return Completed() if ctx.may_begin() else Retry(code="no_time")

    ended = run(kind(work))

    assert ended.progress == ({"page": 1}, {"page": 2})
    assert ended.log == (("page read", {"rows": 3, "last": None}),)
    assert ended.asked == (True,)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda ctx: ctx.progress({"page": object()}),
        lambda ctx: ctx.log("page", rows=object()),
    ],
)
def test_progress_and_log_lines_that_are_no_json_fail_the_handler(
    spoil: Callable[[Context], None],
) -> None:
    def work(_args: Args, ctx: Context) -> Outcome:
        spoil(ctx)
        return Completed()

    assert run(kind(work)).error_code == "handler_crashed"


def test_the_lease_and_the_deadline_are_the_kinds_own() -> None:
    left: list[float] = []

    def look(_args: Args, ctx: Context) -> Outcome:
        left.append(ctx.seconds_left)
        return Completed()

    run(kind(look))
    run(kind(look, lease_seconds=90, deadline_seconds=120))
    run(kind(look, deadline_seconds=30))
    run(kind(look), seconds_left=12.5)

    assert left == [60, 90, 30, 12.5]


@pytest.mark.parametrize(
    ("seconds_left", "state"),
    [(10, "waiting"), (10.5, "succeeded"), (0.1, "waiting"), (None, "succeeded")],
)
def test_no_call_begins_that_could_outlast_the_lease(
    seconds_left: float | None, state: str
) -> None:
    def call(_args: Args, ctx: Context) -> Outcome:
        return Completed() if ctx.may_begin() else Retry(code="no_time")

    ended = run(kind(call), seconds_left=seconds_left)

    assert ended.state == state
    assert ended.asked == (state == "succeeded",)


def test_a_run_whose_lease_has_ended_does_not_begin() -> None:
    ended = run(kind(says(Completed())), seconds_left=0)

    assert ended.outcome == Interrupted(cause="lease_lost")
    assert (ended.state, ended.attempt) == ("waiting", 0)


def test_a_cancel_is_requested_after_so_many_looks() -> None:
    looks: list[bool] = []

    def until_cancelled(_args: Args, ctx: Context) -> Outcome:
        while not ctx.cancel_requested:
            looks.append(False)
        return Snooze(until=NOW)

    ended = run(kind(until_cancelled), cancel_after=3)

    assert len(looks) == 3
    assert (ended.state, ended.code) == ("cancelled", "operator")


def test_a_cancel_ends_what_is_unfinished_even_if_nobody_looks() -> None:
    outcomes: dict[str, Outcome] = {
        "succeeded": Completed(),
        "discarded": Fail(code="no"),
        "cancelled": Retry(code="busy"),
    }

    for state, outcome in outcomes.items():
        assert run(kind(says(outcome)), cancel_after=0).state == state
    assert run(kind(says(Retry(code="busy"))), cancel_after=1).state == "waiting"
    assert run(kind(says(Cancel(code="unwanted")))).code == "unwanted"


def test_a_kind_that_no_worker_would_load_is_refused() -> None:
    with pytest.raises(ValueError, match="fulfillment: name: is one of the product's"):
        run(replace(kind(says(Completed())), name="fulfillment"))
    with pytest.raises(ValueError, match="lease_seconds must be at least 35"):
        kind(says(Completed()), lease_seconds=34)
    with pytest.raises(ValueError, match="deadline_seconds: more than call_seconds"):
        run(kind(says(Completed()), asks_provider=True, deadline_seconds=10))


def test_changes_of_streams_are_refused() -> None:
    change = Change(
        ref=Ref(StreamKind.ORDER, new_id()),
        tenant_id="default",
        expected=0,
        events=(),
        state=run(kind(says(Completed()))).job,
    )

    with pytest.raises(ValueError, match="changes are for the product's kinds"):
        run(kind(says(Completed(changes=(change,)))))
