"""Kinds of the tests as a cell makes them: `recipe(name)` for the worker's side."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from application.context import Context
from application.job_kinds import Kinds, by_name
from domain.jobs.outcome import Completed, Outcome, Retry
from infrastructure.errors import DatabaseUnavailableError
from infrastructure.processor.suspects.wire import Recipe
from tests.crash.lawless import WAYS
from tests.fixtures.workers import Args, Handler, kind


def recipe(function: str = "all_kinds") -> Recipe:
    return Recipe(__name__, function)


def lawless(way: str) -> Handler:
    def handler(_args: Args, _ctx: Context) -> Outcome:
        return WAYS[way]()

    return handler


def asks_first(way: str) -> Handler:
    def handler(_args: Args, ctx: Context) -> Outcome:
        assert ctx.may_begin()
        return WAYS[way]()

    return handler


def done(args: Args, ctx: Context) -> Outcome:
    return Completed(
        result={
            "n": args.n,
            "pid": os.getpid(),
            "threads": threading.active_count(),
            "attempt": ctx.attempt,
            "token": ctx.token,
            "job": str(ctx.job_id),
            "tenant": ctx.tenant_id,
            "correlation": ctx.correlation_id,
        }
    )


def chatty(_args: Args, ctx: Context) -> Outcome:
    for n in range(100):
        ctx.progress({"done": n, "text": "a\0b\ud800"})
    ctx.log("halfway", share=0.5, note="x\0")
    before = ctx.seconds_left
    asked = ctx.cancel_requested
    return Completed(result={"left": before, "asked": asked, "may": ctx.may_begin()})


def waits_for_a_cancel(_args: Args, ctx: Context) -> Outcome:
    ctx.progress({"waits": True})
    while not ctx.cancel_requested:
        pass
    return Retry(code="stopped")


def raises(_args: Args, _ctx: Context) -> Outcome:
    msg = "no\0 \ud800 good, password=hunter2"
    raise RuntimeError(msg)


def loses_the_database(_args: Args, _ctx: Context) -> Outcome:
    raise DatabaseUnavailableError("gone")  # noqa: EM101 - what it says does not matter


def huge(_args: Args, _ctx: Context) -> Outcome:
    return Completed(result={"text": "x" * 20_000_000})


HANDLERS: dict[str, Handler] = {
    "done": done,
    "chatty": chatty,
    "waits_for_a_cancel": waits_for_a_cancel,
    "raises": raises,
    "loses_the_database": loses_the_database,
    "huge": huge,
    **{way: lawless(way) for way in WAYS},
    "asks_and_exits": asks_first("exits"),
}


@contextmanager
def all_kinds(_text: str) -> Iterator[Kinds]:
    yield by_name(*(kind(name, handler) for name, handler in HANDLERS.items()))


@contextmanager
def no_kinds(_text: str) -> Iterator[Kinds]:
    yield by_name()


@contextmanager
def no_database(text: str) -> Iterator[Kinds]:
    if not text:
        raise DatabaseUnavailableError("away")  # noqa: EM101 - what it says does not matter
    yield by_name()


@contextmanager
def dies_in_the_making(text: str) -> Iterator[Kinds]:
    if not text:
        os._exit(3)
    yield by_name()
