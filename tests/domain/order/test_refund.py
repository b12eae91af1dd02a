"""A refund with its defaults filled in; SQL is held to it in tests/front_door."""

import pytest

from domain.errors import InvalidRequestError
from domain.order.refund import parse
from domain.order.request import RefundRequest

LEAST = {"orderId": "o-1", "reason": "charged back"}


def test_what_is_not_said_has_its_default() -> None:
    assert parse(LEAST) == RefundRequest(
        tenant="default",
        order_id="o-1",
        lines=None,
        amount_minor=None,
        reason="charged back",
        correlation_id="order:o-1",
    )


def test_what_is_said_is_kept() -> None:
    told = {"lines": [2, 1], "amountMinor": 0, "correlationId": "c", "tenant": "t"}

    accepted = parse(LEAST | told | {"notify": False})

    assert (accepted.lines, accepted.amount_minor) == ((2, 1), 0)
    assert (accepted.correlation_id, accepted.tenant) == ("c", "t")


@pytest.mark.parametrize(
    "reason", ["abc", "x" * 400, "не пришло: 3 раза", "“why” — 🎁 is gone"]
)
def test_a_reason_is_a_sentence(reason: str) -> None:
    assert parse(LEAST | {"reason": reason}).reason == reason


@pytest.mark.parametrize(
    ("members", "path"),
    [
        ({"reason": "ab"}, "reason"),
        ({"reason": "x" * 401}, "reason"),
        ({"reason": "two\nlines"}, "reason"),
        ({"reason": " before"}, "reason"),
        ({"reason": "after\u200b"}, "reason"),
        ({"reason": "a\x1b[2Jb"}, "reason"),
        ({"lines": [1, 1]}, "lines[1]"),
        ({"lines": []}, "lines"),
        ({"lines": [1, "2"]}, "lines[1]"),
        ({"amountMinor": -1}, "amountMinor"),
        ({"amountMinor": 1.0}, "amountMinor"),
    ],
)
def test_what_is_wrong_is_refused_with_its_path(
    members: dict[str, object], path: str
) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        parse(LEAST | members)

    assert (refused.value.code, refused.value.path) == ("invalid_member", path)


@pytest.mark.parametrize("member", LEAST)
def test_order_and_reason_are_required(member: str) -> None:
    request = {name: told for name, told in LEAST.items() if name != member}

    with pytest.raises(InvalidRequestError) as refused:
        parse(request)

    assert (refused.value.code, refused.value.path) == ("missing_member", member)
