"""Handlers that do not keep to the rules: each case, and the worker that survives it.

In threads of a worker: what ends the whole process is told in tests/crash.
"""

import locale
import os
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone, tzinfo
from typing import Any, cast

import msgspec
import pytest

from application.context import Context
from application.job_kinds import JobKind
from domain.jobs.outcome import (
    Ambiguous,
    Cancel,
    Completed,
    Fail,
    Outcome,
    Park,
    Retry,
    Snooze,
)
from domain.stream import Change
from infrastructure.processor.running import (
    LARGEST_PROGRESS_BYTES,
    LARGEST_RESULT_BYTES,
)
from tests.fixtures.database import TestDatabase
from tests.fixtures.workers import (
    Args,
    enqueue,
    facts,
    history,
    is_over,
    kind,
    until,
    worker_here,
)
from tests.processor.rig import NOOP

pytestmark = pytest.mark.usefixtures("heads_equal_folds")

BAD = "a\0b\ud800c\u202ed\U0001f600"
CLEAN = "a\ufffdb\ufffdc\u202ed\U0001f600"
LONG = "x" * 1_000_000


class Shy(Exception):  # noqa: N818 - it is no good example
    def __str__(self) -> str:
        raise SystemExit


class Odd(Completed, frozen=True, kw_only=True):
    """An outcome of somebody's own make."""


def _hidden(_: object) -> str:
    raise SystemExit


Shapeless = type("Shapeless", (type,), {"__name__": property(_hidden)})
"""Of classes that hide their own name."""


def _in_a_handler(*_: object) -> object:
    assert threading.current_thread().name.startswith("default-")
    return ""


LOOKS = ("__getitem__", "__len__", "__str__", "__iter__", "isascii", "replace")
Waiting = type("Waiting", (str,), dict.fromkeys((*LOOKS, "encode"), _in_a_handler))
"""Of texts that hold up whoever looks at them."""


class Zone(tzinfo):
    """A zone that tells its offset now and then."""

    def __init__(self, *tells: timedelta | None) -> None:
        self._tells = [*tells]

    def utcoffset(self, _: datetime | None) -> timedelta | None:
        if not self._tells:
            raise SystemExit
        return self._tells.pop(0)

    dst = utcoffset

    def tzname(self, _: datetime | None) -> str:
        raise SystemExit


class Uncounted:
    """Changes that are none, and have no end."""

    def __iter__(self) -> Iterator[object]:
        while True:
            yield _in_a_handler()


def at(zone: tzinfo) -> Snooze:
    return Snooze(until=datetime(2035, 1, 1, tzinfo=zone))


def deep(levels: int) -> dict[str, object]:
    value: dict[str, object] = {}
    for _ in range(levels):
        value = {"a": value}
    return value


def cyclic() -> dict[str, object]:
    value: dict[str, object] = {}
    value["itself"] = value
    return value


def says(outcome: object) -> Callable[[Context], Outcome]:
    return lambda _: cast("Outcome", outcome)


def raises(error: BaseException) -> Callable[[Context], Outcome]:
    def handler(_ctx: Context) -> Outcome:
        raise error

    return handler


def shows(progress: object) -> Callable[[Context], Outcome]:
    def handler(ctx: Context) -> Outcome:
        ctx.progress(cast("Any", progress))
        return Completed()

    return handler


def logs_as_if_it_were_us(ctx: Context) -> Outcome:
    names = ("event", "job", "kind", "attempt", "at", "pid", "self", "values")
    ctx.log(BAD, **dict.fromkeys(names, "forged"))
    return Completed()


def malformed() -> Change:
    return Change(
        ref=cast("Any", 7),
        tenant_id="default",
        expected=0,
        events=cast("Any", (object(),)),
        state=cast("Any", None),
    )


def recurses(ctx: Context) -> Outcome:
    return recurses(ctx)


def naive() -> Snooze:
    return Snooze(until=datetime(2026, 1, 1))  # noqa: DTZ001 - that is its fault


SUCCEEDED = "succeeded"
CRASHED = "handler_crashed"
UNSTORABLE = "unstorable_result"

CASES: dict[str, tuple[Callable[[Context], Outcome], str]] = {
    "returns nothing": (says(None), CRASHED),
    "returns a text": (says("done"), CRASHED),
    "returns the class": (says(Completed), CRASHED),
    "returns a subclass": (says(Odd()), CRASHED),
    "returns a number as code": (says(Retry(code=cast("str", 7))), CRASHED),
    "returns a naive instant": (says(naive()), CRASHED),
    "returns a list as result": (says(Completed(result=cast("Any", []))), CRASHED),
    "exits": (raises(SystemExit(3)), CRASHED),
    "interrupts": (raises(KeyboardInterrupt()), CRASHED),
    "ends a generator": (raises(GeneratorExit()), CRASHED),
    "is out of memory": (raises(MemoryError()), CRASHED),
    "recurses": (recurses, CRASHED),
    "cannot be shown": (raises(Shy()), CRASHED),
    "has a huge name": (raises(type("E" * 100_000, (Exception,), {})()), CRASHED),
    "hides its class's name": (
        raises(Shapeless("Hidden", (Exception,), {})()),
        CRASHED,
    ),
    "says what has a class of its own": (
        says(Retry(code=Waiting("no"), error=Waiting("text"))),
        "no",
    ),
    "returns changes that are none": (
        says(Completed(changes=cast("Any", Uncounted()))),
        CRASHED,
    ),
    "snoozes in a zone that raises": (says(at(Zone())), CRASHED),
    "snoozes in a zone that tells once": (says(at(Zone(timedelta(1)))), CRASHED),
    "snoozes beyond all years": (
        says(Snooze(until=datetime.max.replace(tzinfo=timezone(timedelta(hours=-1))))),
        CRASHED,
    ),
    "says bad text": (raises(RuntimeError(BAD)), CRASHED),
    "says invalid bytes": (
        raises(RuntimeError(b"\xff\xfe".decode("utf-8", "surrogateescape"))),
        CRASHED,
    ),
    "says a megabyte": (raises(RuntimeError(LONG)), CRASHED),
    "result is large": (
        says(Completed(result={"a": "x" * LARGEST_RESULT_BYTES})),
        UNSTORABLE,
    ),
    "result is deep": (says(Completed(result=deep(65))), UNSTORABLE),
    "result is as deep as allowed": (says(Completed(result=deep(64))), SUCCEEDED),
    "result is deeper than the stack": (
        says(Completed(result=deep(100_000))),
        UNSTORABLE,
    ),
    "result holds itself": (says(Completed(result=cyclic())), UNSTORABLE),
    "result is no JSON": (says(Completed(result={"a": object()})), UNSTORABLE),
    "result has a surrogate": (says(Completed(result={"a": "\ud800"})), UNSTORABLE),
    "result has a NUL": (says(Completed(result={"a": "\0"})), UNSTORABLE),
    "result is a huge number": (says(Completed(result={"a": 10**400})), UNSTORABLE),
    "result is no number": (says(Completed(result={"a": float("nan")})), SUCCEEDED),
    "progress is large": (shows({"a": "x" * LARGEST_PROGRESS_BYTES}), CRASHED),
    "progress is deep": (shows(deep(65)), CRASHED),
    "progress holds itself": (shows(cyclic()), CRASHED),
    "progress is no JSON": (shows({"a": object()}), CRASHED),
    "progress has bad text": (shows({BAD: BAD}), SUCCEEDED),
    "retry code is bad": (says(Retry(code=BAD)), CLEAN),
    "retry code is long": (says(Retry(code=LONG)), "x" * 126 + "…"),
    "fail code is bad": (says(Fail(code=BAD)), CLEAN),
    "fail error is long": (says(Fail(code="no", error=LONG)), "no"),
    "ambiguous error is bad": (says(Ambiguous(code="no", error=BAD)), "no"),
    "logs as if it were us": (logs_as_if_it_were_us, SUCCEEDED),
    "changes are no tuple": (
        says(Fail(code="no", changes=cast("Any", [malformed()]))),
        CRASHED,
    ),
    "changes are none": (says(Fail(code="no", changes=cast("Any", (1,)))), CRASHED),
    "changes are malformed": (
        says(Completed(changes=(malformed(),))),
        UNSTORABLE,
    ),
    "changes of a failure are malformed": (
        says(Fail(code="no", changes=(malformed(),))),
        UNSTORABLE,
    ),
    "retry waits for ever": (
        says(Retry(code="no", not_before_seconds=float("inf"))),
        "no",
    ),
    "retry waits for no number": (
        says(Retry(code="no", not_before_seconds=float("nan"))),
        "no",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_s23_whatever_a_handler_does_its_job_has_an_end(
    case: str, database: TestDatabase
) -> None:
    """One attempt each; what is stored is clean, short and readable again."""
    handler, expected = CASES[case]
    connection = database.connect()
    job = enqueue(connection, "hostile", maxAttempts=1)
    neighbour = enqueue(connection, "noop")

    with worker_here(
        database, kind("hostile", lambda _, ctx: handler(ctx)), NOOP, rescue_seconds=60
    ):
        until(lambda: is_over(connection))

    assert history(connection, neighbour)[-1] == "succeeded"
    if expected == SUCCEEDED:
        assert history(connection, job) == ["enqueued", "claimed", "succeeded"]
        return
    (dead,) = facts(connection, job, "job.discarded")
    assert expected in {dead["code"], dead["error_code"]}
    assert len(dead["error"]) <= 500
    assert "\0" not in dead["error"]


def test_a_snooze_into_the_far_future_and_a_park_with_bad_text_are_kept(
    database: TestDatabase,
) -> None:
    connection = database.connect()
    job = enqueue(connection, "hostile")

    with worker_here(database, kind("hostile", lambda *_: Park(cause=BAD, error=BAD))):
        until(lambda: history(connection, job)[-1] == "parked")

    assert facts(connection, job, "job.parked")[0]["cause"] == CLEAN


def test_what_names_the_job_in_a_line_of_a_handler_is_ours_to_say(
    database: TestDatabase,
) -> None:
    job = enqueue(database.connect(), "hostile")

    with worker_here(
        database, kind("hostile", lambda _, ctx: logs_as_if_it_were_us(ctx))
    ) as (_, events):
        (line,) = events.wait_for(BAD)

    assert line["job"] == str(job)
    assert (line["kind"], line["attempt"]) == ("hostile", 1)
    assert line["self"] == "forged"


def test_a_cancel_with_bad_text_is_cancelled(database: TestDatabase) -> None:
    connection = database.connect()
    job = enqueue(connection, "hostile")

    with worker_here(database, kind("hostile", lambda *_: Cancel(code=BAD))):
        until(lambda: is_over(connection))

    assert facts(connection, job, "job.cancelled")[0]["code"] == CLEAN


class Trap(msgspec.Struct, frozen=True):
    """Arguments whose own check raises what no decoder foresees."""

    way: str

    def __post_init__(self) -> None:
        errors: dict[str, BaseException] = {
            "key": KeyError("a"),
            "exit": SystemExit(3),
            "shy": Shy(),
            "value": ValueError(BAD),
        }
        raise errors[self.way]


@pytest.mark.parametrize("way", ["key", "exit", "shy", "value", "unheard of"])
def test_arguments_that_raise_while_they_are_read_are_undecodable(
    way: str, database: TestDatabase
) -> None:
    connection = database.connect()
    job = enqueue(connection, "trap", args={"way": way})
    trap = JobKind(name="trap", args=Trap, handler=lambda *_: Completed())

    with worker_here(database, trap) as (worker, _):
        until(lambda: is_over(connection))
        assert worker.is_ready()

    (dead,) = facts(connection, job, "job.discarded")
    assert (dead["code"], dead["attempt"]) == ("undecodable", 0)


def test_one_progress_with_bad_text_costs_nobody_else_his(
    database: TestDatabase,
) -> None:
    """All progress of a process is saved by one statement."""
    connection = database.connect()
    both = threading.Event()

    def handler(args: Args, ctx: Context) -> Outcome:
        ctx.progress({"text": BAD} if args.n else {"text": "good"})
        both.wait(30)
        return Completed()

    for n in range(2):
        enqueue(connection, "showing", args={"n": n})
    with worker_here(database, kind("showing", handler), heartbeat_seconds=0.2):
        until(
            lambda: (
                connection.execute(
                    "SELECT count(progress) FROM counterfoil.jobs"
                ).fetchone()
                == (2,)
            )
        )
        texts = connection.execute(
            "SELECT progress->>'text' FROM counterfoil.jobs ORDER BY 1"
        ).fetchall()
        both.set()
        until(lambda: is_over(connection))

    assert sorted(row[0] for row in texts) == sorted([CLEAN, "good"])


def test_a_handler_that_changes_its_surroundings_changes_no_other(
    database: TestDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Settings are read once; signal handlers belong to the main thread."""
    connection = database.connect()
    monkeypatch.setenv("COUNTERFOIL_DATABASE_URL", database.conninfo)
    before = locale.setlocale(locale.LC_ALL)
    hook = sys.excepthook

    def handler(_args: Args, _ctx: Context) -> Outcome:
        os.environ["COUNTERFOIL_DATABASE_URL"] = "postgresql://nowhere.invalid/x"
        os.environ["PGHOST"] = "nowhere.invalid"
        locale.setlocale(locale.LC_ALL, "C")
        return Completed()

    monkeypatch.setenv("PGHOST", "")
    try:
        with worker_here(database, kind("changing", handler), NOOP):
            enqueue(connection, "changing")
            until(lambda: is_over(connection))
            for _ in range(20):
                enqueue(connection, "noop")
            until(lambda: is_over(connection))
    finally:
        locale.setlocale(locale.LC_ALL, before)
    assert sys.excepthook is hook


def test_a_thread_that_a_handler_left_behind_keeps_nobody(
    database: TestDatabase,
) -> None:
    connection = database.connect()
    over = threading.Event()
    left: list[threading.Thread] = []

    def handler(_args: Args, _ctx: Context) -> Outcome:
        left.append(threading.Thread(target=over.wait, daemon=True))
        left[0].start()
        return Completed()

    enqueue(connection, "leaving")
    with worker_here(database, kind("leaving", handler)):
        until(lambda: is_over(connection))
    over.set()
    left[0].join(30)
