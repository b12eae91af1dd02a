"""The check's own rules of what a customer is owed, in sums that anybody can do."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from infrastructure.demo.check.owed import Decided, Owed, Shown
from infrastructure.demo.diary import Asked, Diary, Goods, Sale

BOUGHT = datetime(2030, 1, 1, tzinfo=UTC)
STARS = Goods(
    provider="stars",
    recipient="customer_7",
    units=50,
    cost_minor=50,
    price_minor=100,
    amount_minor=1_000,
)
DIARY = Diary(sales={f"order {on}": Sale("7", 30, STARS) for on in range(100)})


def day(number: int) -> datetime:
    return BOUGHT + timedelta(days=number)


def sold(on: int, *, decided: int | None = None) -> Decided:
    at = day(on if decided is None else decided)
    return Decided("7", f"sold {on}", "create", at, f"order {on}", day(on))


def asked(operation: str, on: int, **given: int | str | tuple[str, ...]) -> Decided:
    key = f"{operation} {on}"
    DIARY.asked[key] = Asked("anna", "ticket", "7", operation, given)
    return Decided("7", key, operation, day(on), None, None)


def refunded(on: int, order: int) -> Decided:
    DIARY.refunds[f"order {order}"] = "ticket"
    return Decided("7", f"refund {on}", "disable", day(on), f"order {order}", None)


def owed(decisions: Sequence[Decided]) -> Owed:
    entry = Owed("7")
    assert [entry.decide(each, DIARY) for each in decisions] == [None] * len(decisions)
    return entry


def until(
    number: int, *, devices: int = 0, squads: tuple[str, ...] = ()
) -> tuple[str, Shown]:
    end = f"{day(number):%Y-%m-%dT%H:%M:%S.000Z}"
    return "active", Shown(end, devices=devices, squads=squads)


@pytest.mark.parametrize(
    ("decisions", "wanted"),
    [
        ([sold(0), sold(10)], until(60)),
        ([sold(0), sold(40)], until(70)),
        # Time stands still from 10 to 20; what is bought meanwhile counts in full.
        ([sold(0), asked("pause", 10), asked("resume", 20)], until(40)),
        ([sold(0), asked("pause", 10), sold(15), asked("resume", 20)], until(70)),
        ([sold(0), asked("pause", 40), asked("resume", 50)], until(30)),
        # The order that was paid last says the limits, unless people did since.
        ([sold(0), asked("set_limits", 5, deviceLimit=5)], until(30, devices=5)),
        ([sold(0), asked("set_limits", 5, deviceLimit=5), sold(9)], until(60)),
        (
            [sold(0), asked("set_limits", 5, deviceLimit=5), sold(4, decided=6)],
            until(60, devices=5),
        ),
        (
            [sold(0), asked("set_squads", 5, squadIds=("b", "a"))],
            until(30, squads=("a", "b")),
        ),
        (
            [sold(0), asked("extend", 5, endsAt="2030-04-11T00:00:00Z"), sold(6)],
            until(130),
        ),
        # A settlement takes a disabling back, unless it was paid before that.
        ([sold(0), asked("disable", 5), sold(6)], until(60)),
        ([sold(0), asked("disable", 5), asked("enable", 6)], until(30)),
        ([sold(0), refunded(5, 0), sold(6)], until(60)),
    ],
)
def test_what_is_owed_follows_from_what_people_did(
    decisions: list[Decided], wanted: tuple[str, Shown]
) -> None:
    entry = owed(decisions)

    assert (entry.standing, entry.shown[-1]) == wanted


@pytest.mark.parametrize(
    ("decisions", "standing"),
    [
        ([sold(0), asked("pause", 5), sold(6)], "paused"),
        ([sold(0), asked("disable", 5)], "disabled"),
        ([sold(0), refunded(5, 0)], "disabled"),
        ([sold(0), asked("disable", 5), sold(4, decided=6)], "disabled"),
    ],
)
def test_whoever_rests_shows_it(decisions: list[Decided], standing: str) -> None:
    assert owed(decisions).standing == standing


def test_what_nobody_wanted_is_told() -> None:
    entry = Owed("7")
    by_nobody = Decided("7", "nobody's", "set_limits", day(1), None, None)
    of_another = Decided("7", "sold", "create", day(0), "no order", day(0))

    assert "nobody wanted set_limits" in (entry.decide(by_nobody, DIARY) or "")
    assert "nobody wanted create" in (entry.decide(of_another, DIARY) or "")
