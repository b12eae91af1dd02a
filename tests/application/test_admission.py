"""What a kind of somebody's own must be: each rule broken by one field."""

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import Any, cast

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from application.admission import PRODUCT_NAMES, refusal_of
from application.context import Context
from application.job_kinds import AnyKind, JobKind
from application.policies import FULFILLMENT, ORDER_FANOUT
from domain.jobs.backoff import Backoff
from domain.jobs.outcome import Completed, Outcome
from domain.jobs.verdict import Budget
from infrastructure.ids import new_id


class Args(msgspec.Struct):
    n: int = 0


def done(_args: Args, _ctx: Context) -> Outcome:
    return Completed()


async def later(_args: Args, _ctx: Context) -> Outcome:
    return Completed()


class Later:
    async def __call__(self, _args: Args, _ctx: Context) -> Outcome:
        return Completed()


def one_by_one(_args: Args, _ctx: Context) -> Iterator[Outcome]:
    yield Completed()


def odd_backoff(base_seconds: object, cap_exponent: object) -> Backoff:
    return Backoff(
        base_seconds=cast("float", base_seconds), cap_exponent=cast("int", cap_exponent)
    )


RIGHT: AnyKind = JobKind(name="acme.mail", args=Args, handler=done)


def broken(**fields: Any) -> AnyKind:  # noqa: ANN401 - whatever breaks a promise
    """Return a kind with fields that its own constructor might refuse."""
    kind = replace(RIGHT)
    for name, value in fields.items():
        object.__setattr__(kind, name, value)
    return kind


def test_a_right_kind_is_not_refused() -> None:
    assert refusal_of(RIGHT) is None


def test_the_names_of_the_products_kinds_are_kept_for_it() -> None:
    assert {ORDER_FANOUT, FULFILLMENT} <= PRODUCT_NAMES
    for name in PRODUCT_NAMES:
        assert "one of the product's" in str(refusal_of(broken(name=name)))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", ""),
        ("name", "Mail"),
        ("name", "mail\n"),
        ("name", "m" * 128),
        ("name", None),
        ("args", dict),
        ("args", Args()),
        ("handler", None),
        ("handler", later),
        ("handler", Later()),
        ("handler", one_by_one),
        ("handler", partial(later, Args())),
        ("queue", "mails"),
        ("queue", None),
        ("budget", 3),
        ("budget", Budget(max_attempts=0)),
        ("budget", Budget(max_attempts=1_001)),
        ("budget", Budget(max_attempts=cast("int", 2.5))),
        ("budget", Budget(max_attempts=3, max_crashes=0)),
        ("budget", Budget(max_attempts=3, max_crashes=cast("int", "3"))),
        ("budget", Budget(max_attempts=3, backoff=cast("Backoff", None))),
        ("budget", Budget(max_attempts=3, backoff=odd_backoff(Decimal(5), 8))),
        ("budget", Budget(max_attempts=3, backoff=odd_backoff(5.0, 2.5))),
        ("lease_seconds", 60.5),
        ("lease_seconds", True),
        ("lease_seconds", 86_401),
        ("lease_seconds", 34),
        ("call_seconds", 0),
        ("call_seconds", None),
        ("deadline_seconds", 0),
        ("deadline_seconds", "60"),
        ("unique_key", None),
        ("serial_key", "key"),
        ("concurrency_limit", 0),
        ("concurrency_limit", 1_001),
        ("concurrency_limit", 2.0),
        ("concurrency_limit", None),
        ("record", lambda _args: new_id()),
    ],
)
def test_a_field_that_would_harm_a_worker_is_named(field: str, value: object) -> None:
    assert f"{field}" in str(refusal_of(broken(**{field: value}))).partition(":")[0]


def test_a_deadline_in_which_no_call_could_begin_is_refused() -> None:
    """`may_begin` wants more than one call left."""
    asks = replace(RIGHT, asks_provider=True)

    assert "deadline_seconds" in str(refusal_of(replace(asks, deadline_seconds=10)))
    assert refusal_of(replace(asks, deadline_seconds=11)) is None
    assert refusal_of(replace(RIGHT, deadline_seconds=10)) is None


@given(st.integers(-5, 200), st.integers(-5, 200))
def test_what_is_admitted_outlasts_a_call_a_heartbeat_and_ten_seconds(
    lease: int, call: int
) -> None:
    """Mechanisms 23."""
    kind = broken(lease_seconds=lease, call_seconds=call)

    admitted = refusal_of(kind) is None

    assert admitted == (call >= 1 and lease >= call + 15 + 10)
