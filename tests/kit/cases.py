"""Handlers of every sort, each a kind of its own, for the kit and for a worker."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NoReturn, cast

import msgspec

from counterfoil import (
    Ambiguous,
    Backoff,
    Budget,
    Cancel,
    Completed,
    Context,
    Fail,
    JobKind,
    Outcome,
    Park,
    Retry,
    Snooze,
)

LATER = datetime(2035, 1, 1, tzinfo=UTC)
NAIVE = datetime(2035, 1, 1)  # noqa: DTZ001 - on purpose

# Without jitter, so that pauses can be compared; so long that nothing runs again.
CALM = Budget(max_attempts=3, backoff=Backoff(base_seconds=300.0, jitter=0.0))
AT_ONCE = Budget(
    max_attempts=3, backoff=Backoff(base_seconds=0.001, cap_exponent=0, jitter=0.0)
)


class Args(msgspec.Struct, frozen=True):
    n: int = 0


type Handler = Callable[[Args, Context], Outcome]


@dataclass(frozen=True)
class Case:
    """One kind of job, and in which run of it the two are compared."""

    name: str
    handler: Handler
    args: dict[str, object] = field(default_factory=dict[str, object])
    attempt: int = 1
    is_cancelled: bool = False
    budget: Budget = CALM

    @property
    def kind(self) -> JobKind[Args]:
        return JobKind(
            name=self.name, args=Args, handler=self.handler, budget=self.budget
        )

    @property
    def version(self) -> int:
        """Of the event that ends the run, after two events for each run before."""
        return 2 * self.attempt + 1 + self.is_cancelled


def says(outcome: object) -> Handler:
    return lambda _args, _ctx: cast("Outcome", outcome)


def raises(error: BaseException) -> Handler:
    def handler(_args: Args, _ctx: Context) -> NoReturn:
        raise error

    return handler


def once_cancelled(outcome: Outcome) -> Handler:
    """Wait until a cancel is requested, then say `outcome`."""

    def handler(_args: Args, ctx: Context) -> Outcome:
        while not ctx.cancel_requested:
            threading.Event().wait(0.01)
        return outcome

    return handler


def by_attempt(*outcomes: Outcome) -> Handler:
    return lambda _args, ctx: outcomes[ctx.attempt - 1]


def calls(_args: Args, ctx: Context) -> Outcome:
    return Retry(code="called") if ctx.may_begin() else Retry(code="no_time")


def told_badly(tell: Callable[[Any], None]) -> Handler:
    def handler(_args: Args, ctx: Context) -> Outcome:
        tell(ctx)
        return Completed()

    return handler


class ShyError(Exception):
    def __str__(self) -> str:
        raise RuntimeError


ROUND = {"n": 1, "text": "ё\u2028", "list": [1.5, None, True], "": {"deep": {}}}
BUSY = Retry(code="busy", error="not now")

CASES = (
    Case("completed", says(Completed())),
    Case("completed.result", says(Completed(result=ROUND)), {"n": 3, "other": []}),
    Case("completed.nan", says(Completed(result={"n": float("nan")}))),
    Case("retry", says(BUSY)),
    Case("retry.after", says(Retry(code="busy", not_before_seconds=1000.0))),
    Case("retry.ages", says(Retry(code="busy", not_before_seconds=1e30))),
    Case("retry.nan", says(Retry(code="busy", not_before_seconds=float("nan")))),
    Case("retry.second", by_attempt(BUSY, BUSY, BUSY), attempt=2, budget=AT_ONCE),
    Case("retry.last", by_attempt(BUSY, BUSY, BUSY), attempt=3, budget=AT_ONCE),
    Case("retry.only", says(BUSY), budget=Budget(max_attempts=1)),
    Case("snooze", says(Snooze(until=LATER, cause="night"))),
    Case("snooze.naive", says(Snooze(until=NAIVE))),
    Case("park", says(Park(cause="closed", error="until nine"))),
    Case("fail", says(Fail(code="no_address", error="token=hunter2"))),
    Case("fail.own", says(Fail(code="worker_crashed"))),
    Case("fail.nul", says(Fail(code="a\0b", error="a\0b \ud800"))),
    Case("fail.long", says(Fail(code="c" * 300, error="e" * 3_000))),
    Case("fail.second", by_attempt(BUSY, Fail(code="no")), attempt=2, budget=AT_ONCE),
    Case("cancel", says(Cancel(code="unwanted"))),
    Case("ambiguous", says(Ambiguous(code="no_answer", error="timed out"))),
    Case("raise", raises(ValueError("password=hunter2\0"))),
    Case("raise.exit", raises(SystemExit(3))),
    Case("raise.shy", raises(ShyError())),
    Case("no.outcome", says(None)),
    Case("no.outcome.class", says(Completed)),
    Case("malformed", says(Retry(code=cast("str", 3)))),
    Case("malformed.result", says(Completed(result=cast("dict[str, object]", [1])))),
    Case("result.object", says(Completed(result={"x": object()}))),
    Case("result.nul", says(Completed(result={"x": ["a\0b"]}))),
    Case("result.nul.name", says(Completed(result={"a\0b": 1}))),
    Case("result.surrogate", says(Completed(result={"x": "\ud800"}))),
    Case("undecodable", says(Completed()), {"n": "three"}),
    Case("undecodable.float", says(Completed()), {"n": 1.5}),
    Case("calls", calls),
    Case("progress.object", told_badly(lambda ctx: ctx.progress({"x": object()}))),
    Case("progress.nul", told_badly(lambda ctx: ctx.progress({"x": "\0"}))),
    Case("log.object", told_badly(lambda ctx: ctx.log("x", n=object()))),
    Case("log.name", told_badly(lambda ctx: ctx.log("x", job=1))),
    Case("cancelled.completed", once_cancelled(Completed()), is_cancelled=True),
    Case("cancelled.retry", once_cancelled(BUSY), is_cancelled=True),
    Case("cancelled.snooze", once_cancelled(Snooze(until=LATER)), is_cancelled=True),
    Case("cancelled.fail", once_cancelled(Fail(code="no")), is_cancelled=True),
)
