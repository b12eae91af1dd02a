"""The trial's judge says what is wrong, and nothing when all is right."""

from collections.abc import Callable
from copy import deepcopy
from datetime import UTC, datetime
from typing import Final

import pytest

from deploy.trial.judging import ToldBook, ToldLog, faults, is_over
from deploy.trial.orders import orders

DAY_MS: Final = 86_400_000
SENT: Final = orders(10)  # trial-004 is of customer-003, and so is trial-003
PAID_AT_MS: Final = 1_796_000_000_000


def iso(ms: int) -> str:
    """Return the instant as the panel writes it."""
    written = datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds")
    return written.replace("+00:00", "Z")


def log() -> ToldLog:
    """Return a log in which all went well, each order a second after the other."""
    customers = dict.fromkeys(it.customer for it in SENT)
    return {
        "orders": [
            (it.order, PAID_AT_MS + 1000 * number, 1) for number, it in enumerate(SENT)
        ],
        "users": [(customer, f"user of {customer}") for customer in customers],
        "left": [0, 0],
        "leases_ended": 0,
    }


def book() -> ToldBook:
    """Return the book of a panel that did as it was asked, worked out by hand."""
    last = {order.customer: order for order in SENT}
    users: list[tuple[str, str, str, int, int | None]] = []
    for customer, order in last.items():
        theirs = [
            (number, it) for number, it in enumerate(SENT) if it.customer == customer
        ]
        days = sum(it.days for _, it in theirs)
        ends = PAID_AT_MS + 1000 * theirs[0][0] + days * DAY_MS
        limits = (order.traffic_bytes or 0, order.devices or 0)
        users.append((f"user of {customer}", "ACTIVE", iso(ends), *limits))
    return {"users": users, "births": [name for name, *_ in users], "asked": 20}


def test_a_tenth_of_the_orders_are_of_somebody_who_came_before() -> None:
    assert len({it.customer for it in orders(100)}) == 80


def test_what_is_right_is_not_found_fault_with() -> None:
    assert list(faults(SENT, log(), book())) == []


def disabled(_: ToldLog, told: ToldBook) -> None:
    name, _status, *rest = told["users"][0]
    told["users"][0] = (name, "DISABLED", *rest)  # type: ignore[assignment]


def an_hour_short(_: ToldLog, told: ToldBook) -> None:
    name, status, end, *rest = told["users"][0]
    earlier = datetime.fromisoformat(end).timestamp() * 1000 - 3_600_000
    told["users"][0] = (name, status, iso(round(earlier)), *rest)  # type: ignore[assignment]


def decided_late(told: ToldBook, late_ms: int) -> ToldBook:
    """Return the book in which who came again has so much more time."""
    (at,) = [n for n, it in enumerate(told["users"]) if it[0].endswith("customer-003")]
    name, status, end, *rest = told["users"][at]
    later = round(datetime.fromisoformat(end).timestamp() * 1000) + late_ms
    told["users"][at] = (name, status, iso(later), *rest)  # type: ignore[assignment]
    return told


def test_of_two_orders_the_later_one_may_have_been_decided_first() -> None:
    """Then its days begin a second later, when it was paid, and the others follow."""
    assert list(faults(SENT, log(), decided_late(book(), 1000))) == []


def too_late(_: ToldLog, told: ToldBook) -> None:
    decided_late(told, 1010)


def without_a_user(_: ToldLog, told: ToldBook) -> None:
    told["users"].pop()


def with_a_stranger(_: ToldLog, told: ToldBook) -> None:
    told["users"].append(("somebody", "ACTIVE", iso(PAID_AT_MS), 0, 0))


def born_twice(_: ToldLog, told: ToldBook) -> None:
    told["births"].append(told["births"][0])


def limited_by_an_earlier_order(_: ToldLog, told: ToldBook) -> None:
    (at,) = [n for n, it in enumerate(told["users"]) if it[0].endswith("customer-003")]
    name, status, end, *_rest = told["users"][at]
    earlier = SENT[3]
    limits = (earlier.traffic_bytes or 0, earlier.devices or 0)
    told["users"][at] = (name, status, end, *limits)


def never_fulfilled(told: ToldLog, _: ToldBook) -> None:
    order, paid_at, _times = told["orders"][0]
    told["orders"][0] = (order, paid_at, 0)


def settled_twice(told: ToldLog, _: ToldBook) -> None:
    told["orders"].append(("another", PAID_AT_MS, 1))


def lost(told: ToldLog, _: ToldBook) -> None:
    told["orders"].pop()


def dead(told: ToldLog, _: ToldBook) -> None:
    told["left"] = [0, 1]


def not_even_granted(told: ToldLog, _: ToldBook) -> None:
    told["users"].pop()


@pytest.mark.parametrize(
    "wrong",
    [
        disabled,
        an_hour_short,
        too_late,
        without_a_user,
        with_a_stranger,
        born_twice,
        limited_by_an_earlier_order,
        never_fulfilled,
        settled_twice,
        lost,
        dead,
        not_even_granted,
    ],
)
def test_what_is_wrong_is_told(wrong: Callable[[ToldLog, ToldBook], None]) -> None:
    told_log, told_book = deepcopy(log()), deepcopy(book())
    wrong(told_log, told_book)

    assert list(faults(SENT, told_log, told_book))


def test_it_is_over_when_nothing_is_left_or_something_died() -> None:
    assert is_over(SENT, log())
    assert is_over(SENT, {**log(), "left": [3, 1]})
    assert not is_over(SENT, {**log(), "left": [3, 0]})
    assert not is_over(SENT, {**log(), "orders": []})
