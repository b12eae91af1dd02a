"""What only the read model of jobs can tell, as options of `counterfoil jobs`."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Final, TypedDict
from uuid import UUID

import rich_click as click

from api.cli.letters.ages import AGE
from api.cli.options import at_least, option
from projections.queries.jobs import JOBS, ORDER
from projections.queries.terms import Among, Asked, Between, Scalar, Term

SUCCEEDED: Final = "succeeded"
STATES: Final = ("waiting", "running", SUCCEEDED, "discarded", "cancelled")
"""What rows can be asked for: whether a job is due is told by the clock alone."""


_MOST_ATTEMPTS: Final = 2**31 - 1


class Past(TypedDict):
    """What the options say; nothing of it: what heads tell is enough."""

    everything: bool
    order: str | None
    operation: UUID | None
    delivery: UUID | None
    correlation: str | None
    worker: str | None
    error_codes: tuple[str, ...]
    attempts: int | None
    older_than: timedelta | None
    younger_than: timedelta | None
    due_within: timedelta | None
    before: str | None
    count: bool
    at_least: int | None


_OPTIONS: Final = (
    option("--all", "everything", is_flag=True, help="Also what has succeeded."),
    option("--order", help="All that the shop's order led to; of --tenant or default."),
    option("--operation", type=click.UUID, help="What carried this operation."),
    option("--delivery", type=click.UUID, help="What bought these goods, or asked."),
    option("--correlation", help="All of one story."),
    option("--worker", metavar="HOST", help="Claimed there last."),
    option("--error-code", "error_codes", multiple=True, help="Met by an attempt."),
    option(
        "--attempts", type=click.IntRange(1, _MOST_ATTEMPTS), help="At least so many."
    ),
    option("--older-than", type=AGE, metavar="AGE", help="Enqueued before: 30m, 7d."),
    option("--younger-than", type=AGE, metavar="AGE", help="Enqueued since."),
    option(
        "--due-within",
        type=AGE,
        metavar="AGE",
        help="Due by then, or long since; with --state waiting: not over yet.",
    ),
    option("--before", metavar="PLACE", help="Go back from this place."),
    option("--count", is_flag=True, help="Tell how many there are, up to 10,000."),
    at_least,
)


def past_options(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of `Past`."""
    for one in reversed(_OPTIONS):
        function = one(function)
    return function


def is_past(state: str | None, past: Past) -> bool:
    """Return whether heads cannot answer."""
    # Nothing, zero and an age of no length are said as well: they find what they find.
    return state == SUCCEEDED or any(
        said is not None and said is not False and said != () for said in past.values()
    )


def question(
    past: Past, named: Mapping[str, str | None], after: str | None, limit: int
) -> Asked:
    """Return the page that is asked for.

    Raises:
        UsageError: only the heads know jobs by that state.
        InvalidRequestError: a place is none of this list.
    """
    if (state := named["state"]) is not None and state not in STATES:
        rule = f"--state {state} is told of unfinished jobs alone; leave out the others"
        raise click.UsageError(rule)
    wanted: dict[str, Scalar | None] = {
        **named,
        ORDER: past["order"],
        "operation": past["operation"],
        "delivery": past["delivery"],
        "correlation": past["correlation"],
        "worker": past["worker"],
    }
    terms = [Among(name, (it,)) for name, it in wanted.items() if it is not None]
    return Asked(
        terms=(*terms, *_others(past)),
        after=None if after is None else JOBS.edge(after),
        before=None if past["before"] is None else JOBS.edge(past["before"]),
        limit=limit,
        is_counted=past["count"],
    )


def _others(past: Past) -> list[Term]:
    """Return the terms of several values, and those of bounds."""
    terms: list[Term] = []
    if past["error_codes"]:
        terms.append(Among("error_code", past["error_codes"]))
    if past["attempts"] is not None:
        terms.append(Between("attempt", least=past["attempts"]))
    if past["older_than"] is not None:
        terms.append(Between("age", below=past["older_than"]))
    if past["younger_than"] is not None:
        terms.append(Between("age", least=past["younger_than"]))
    if past["due_within"] is not None:
        # As long ahead of now as an age lies behind it.
        terms.append(Between("scheduled_at", below=-past["due_within"]))
    return terms
