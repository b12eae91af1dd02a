"""A settlement with its defaults filled in; SQL is held to it in tests/front_door."""

from datetime import UTC, datetime
from typing import Any

import pytest

from domain.errors import InvalidRequestError
from domain.order.currency import MINOR_DIGITS
from domain.order.parse import KINDS, parse

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LEAST: dict[str, Any] = {
    "orderId": "o-1",
    "customerId": "c",
    "kind": "purchase",
    "currency": "USD",
    "amountMinor": 0,
    "lines": [{"line": 1, "type": "access", "days": 30}],
}


def line(**members: object) -> list[dict[str, object]]:
    return [{"line": 1, "type": "access", "days": 30} | members]


def test_what_is_not_said_has_its_default() -> None:
    accepted = parse(LEAST, NOW)

    assert (accepted.tenant, accepted.slot, accepted.discount_minor) == (
        "default",
        1,
        0,
    )
    assert (accepted.effective_at, accepted.correlation_id) == (None, "order:o-1")
    (told,) = accepted.lines
    assert (told.grace_seconds, told.traffic_bytes, told.device_limit) == (
        0,
        None,
        None,
    )
    assert told.squad_ids == ()


@pytest.mark.parametrize(
    ("kind", "resets"),
    [("purchase", False), ("renewal", True), ("extension", True), ("upgrade", True)],
)
def test_traffic_is_reset_by_kind_unless_the_line_says_otherwise(
    kind: str,
    resets: bool,  # noqa: FBT001 -- the expectation of this row
) -> None:
    (told,) = parse(LEAST | {"kind": kind}, NOW).lines
    (said,) = parse(
        LEAST | {"kind": kind, "lines": line(resetTraffic=not resets)}, NOW
    ).lines

    assert (told.reset_traffic, said.reset_traffic) == (resets, not resets)


def test_an_end_is_kept_in_utc() -> None:
    ends = line(days=None, endsAt="2030-01-01T03:00:00.250+03:00")

    (told,) = parse(LEAST | {"lines": ends}, NOW).lines

    assert told.ends_at == datetime(2030, 1, 1, 0, 0, 0, 250_000, tzinfo=UTC)
    assert (told.ends_at.tzinfo, told.days) == (UTC, None)


def test_squads_are_kept_in_lower_case() -> None:
    squad = "0F8FAD5B-D9CB-469F-A165-70867728950E"

    (told,) = parse(LEAST | {"lines": line(squadIds=[squad])}, NOW).lines

    assert told.squad_ids == (squad.lower(),)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_the_contract_is_known(kind: str) -> None:
    request = LEAST | {"kind": kind}
    if kind == "topup":
        del request["lines"]

    try:
        accepted = parse(request, NOW).kind
    except InvalidRequestError as refused:
        accepted = refused.code

    expected = "not_supported_yet" if kind in {"addon", "downgrade"} else kind
    assert accepted == expected


def test_what_takes_effect_now_is_settled_and_what_does_later_is_not() -> None:
    now = parse(LEAST | {"effectiveAt": "2026-01-01T00:00:00Z"}, NOW)

    assert now.effective_at == NOW
    with pytest.raises(InvalidRequestError) as refused:
        parse(LEAST | {"effectiveAt": "2026-01-01T00:00:00.000001Z"}, NOW)
    assert (refused.value.code, refused.value.path) == (
        "not_supported_yet",
        "effectiveAt",
    )


@pytest.mark.parametrize("text", ["a\x00", "\ud800", "a\udfff"])
def test_nul_and_lone_surrogates_are_refused(text: str) -> None:
    with pytest.raises(InvalidRequestError, match="orderId"):
        parse(LEAST | {"orderId": text}, NOW)


def test_every_currency_has_three_letters_and_at_most_four_digits() -> None:
    assert all(len(name) == 3 and name.isupper() for name in MINOR_DIGITS)
    assert set(MINOR_DIGITS.values()) == {0, 2, 3, 4}
    assert len(MINOR_DIGITS) > 150
