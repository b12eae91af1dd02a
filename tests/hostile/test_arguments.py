"""S23 by a job's arguments: what the front door takes, a worker can end.

The numbers of PostgreSQL's JSON have any length and scale; those of a handler do not.
"""

from typing import Any

import msgspec
import psycopg
import pytest

from application.job_kinds import AnyKind, JobKind
from domain.jobs.outcome import Completed, Outcome
from tests.fixtures.database import TestDatabase
from tests.fixtures.workers import facts, history, is_over, until, worker_here

pytestmark = [pytest.mark.database, pytest.mark.usefixtures("heads_equal_folds")]

ARGUMENTS: dict[str, str] = {
    "400 places": "1e-400",
    "299 digits": "9" * 299,
    "299 digits and 299 places": "9" * 299 + "." + "9" * 299,
    "a large exponent": "1e299",
    "an exponent of a float's end": "1.8e308",
    "nothing below nothing": "-0.0",
    "twenty digits": "9" * 20,
    "64 levels": "[" * 62 + "]" * 62,
    "the same name twice": '{"a": 1, "a": 2}',
    "four bytes": '"\\ud83c\\udf81"',
    "turned around": '"\\u202eabc"',
    "no letter": '"\\uffff"',
    "a name of nothing": '{"": 1}',
    "a name that drives a terminal": '{"\\u001b[2J": "\\u009b"}',
    "200 KiB": f'"{"x" * 200_000}"',
    "50,000 numbers": "[" + ",".join("1" for _ in range(50_000)) + "]",
    "before time": '"-infinity"',
    "of another type": "null",
}


class Anything(msgspec.Struct, frozen=True):
    """Takes what there is."""

    a: Any


class Typed(msgspec.Struct, frozen=True):
    """Takes a number that no processor could hold more of."""

    a: int | float


class Text(msgspec.Struct, frozen=True):
    a: str


def done(_args: object, _ctx: object) -> Outcome:
    return Completed()


KINDS: tuple[AnyKind, ...] = (
    JobKind(name="anything", args=Anything, handler=done),
    JobKind(name="typed", args=Typed, handler=done),
    JobKind(name="text", args=Text, handler=done),
)


def test_s23_a_job_with_any_arguments_has_an_end(database: TestDatabase) -> None:
    connection = database.connect()
    jobs: dict[tuple[str, str], Any] = {}
    refused: set[object] = set()
    for name, value in ARGUMENTS.items():
        for kind in (each.name for each in KINDS):
            asked = f'{{"kind": "{kind}", "args": {{"a": {value}}}}}'
            try:
                rows = connection.execute("SELECT counterfoil.enqueue(%s)", (asked,))
            except psycopg.DatabaseError as error:
                refused.add((name, error.sqlstate, error.diag.message_detail))
                continue
            jobs[name, kind] = rows.fetchall()[0][0]["jobId"]
    with worker_here(database, *KINDS) as (worker, _):
        until(lambda: is_over(connection))
        assert worker.is_ready()

    assert refused == {("an exponent of a float's end", "CF400", "args")}
    for (name, kind), job in jobs.items():
        end = history(connection, job)[-1]
        assert end == ("succeeded" if _fits(kind, name) else "discarded"), (name, kind)
        if end == "discarded":
            (dead,) = facts(connection, job, "job.discarded")
            assert (dead["code"], dead["attempt"]) == ("undecodable", 0)


def _fits(kind: str, name: str) -> bool:
    """Whether arguments of that name are of the type that the kind takes."""
    first = ARGUMENTS[name][0]
    match kind:
        case "typed":
            return first in "-0123456789"
        case "text":
            return first == '"'
        case _:
            return True
