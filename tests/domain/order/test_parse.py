"""A settlement with its defaults filled in; SQL is held to it in tests/front_door."""

from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec.json import encode
from msgspec.structs import replace

from domain.errors import InvalidRequestError
from domain.goods.events import Product
from domain.order.currency import MINOR_DIGITS
from domain.order.events import AddonLine, GoodsLine, Line
from domain.order.parse import KINDS, parse
from domain.order.request import SettleRequest

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


def access(request: SettleRequest) -> Line:
    (told,) = request.lines
    assert isinstance(told, Line)
    return told


def test_what_is_not_said_has_its_default() -> None:
    accepted = parse(LEAST, NOW)

    assert (accepted.tenant, accepted.slot, accepted.discount_minor) == (
        "default",
        1,
        0,
    )
    assert (accepted.effective_at, accepted.correlation_id) == (None, "order:o-1")
    told = access(accepted)
    assert (told.grace_seconds, told.traffic_bytes, told.device_limit) == (
        0,
        None,
        None,
    )
    assert told.squad_ids == ()


@pytest.mark.parametrize(
    ("kind", "resets"),
    [
        ("purchase", False),
        ("renewal", True),
        ("extension", True),
        ("upgrade", True),
        ("downgrade", False),
    ],
)
def test_traffic_is_reset_by_kind_unless_the_line_says_otherwise(
    kind: str,
    resets: bool,  # noqa: FBT001 -- the expectation of this row
) -> None:
    told = access(parse(LEAST | {"kind": kind}, NOW))
    said = access(
        parse(LEAST | {"kind": kind, "lines": line(resetTraffic=not resets)}, NOW)
    )

    assert (told.reset_traffic, said.reset_traffic) == (resets, not resets)


def test_an_end_is_kept_in_utc() -> None:
    ends = line(days=None, endsAt="2030-01-01T03:00:00.250+03:00")

    told = access(parse(LEAST | {"lines": ends}, NOW))

    assert told.ends_at == datetime(2030, 1, 1, 0, 0, 0, 250_000, tzinfo=UTC)
    assert (told.ends_at.tzinfo, told.days) == (UTC, None)


def test_squads_are_kept_in_lower_case() -> None:
    squad = "0F8FAD5B-D9CB-469F-A165-70867728950E"

    told = access(parse(LEAST | {"lines": line(squadIds=[squad])}, NOW))

    assert told.squad_ids == (squad.lower(),)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_the_contract_is_settled(kind: str) -> None:
    request = LEAST | {"kind": kind}
    if kind == "topup":
        del request["lines"]

    accepted = parse(request, NOW)

    assert accepted.kind == kind
    assert len(accepted.lines) == (kind not in {"topup", "addon"})
    assert len(accepted.addons) == (kind == "addon")


@pytest.mark.parametrize("kind", ["purchase", "downgrade", "topup"])
def test_an_order_takes_effect_when_it_says(kind: str) -> None:
    later = LEAST | {"kind": kind, "effectiveAt": "2026-02-01T03:00:00+03:00"}
    if kind == "topup":
        del later["lines"]

    assert parse(later, NOW).effective_at == datetime(2026, 2, 1, tzinfo=UTC)


def test_goods_have_their_defaults_and_keep_what_was_said() -> None:
    sold = {
        "line": 7,
        "type": "goods",
        "provider": "starshop",
        "product": {"kind": "telegram_premium", "months": 3, "quantity": None},
        "recipient": "@anna",
        "costMinor": 10**12,
        "priceMinor": 0,
    }

    (told,) = parse(LEAST | {"lines": [sold]}, NOW).lines

    assert isinstance(told, GoodsLine)
    assert told == GoodsLine(
        line=7,
        provider="starshop",
        product=Product(kind="telegram_premium", months=3),
        recipient="@anna",
        quantity=1,
        cost_minor=10**12,
        price_minor=0,
    )
    assert encode(told.product) == b'{"kind":"telegram_premium","months":3}'


def test_an_add_on_takes_effect_at_once() -> None:
    addon = LEAST | {"kind": "addon"}

    now = parse(addon | {"effectiveAt": "2026-01-01T00:00:00Z"}, NOW)

    assert now.effective_at == NOW
    with pytest.raises(InvalidRequestError) as refused:
        parse(addon | {"effectiveAt": "2026-01-01T00:00:00.000001Z"}, NOW)
    assert (refused.value.code, refused.value.path) == (
        "not_supported_yet",
        "effectiveAt",
    )


def addon(**members: object) -> AddonLine:
    """Return the line of an add-on with these members and no others."""
    lines = [{"line": 3, "type": "access"} | members]
    (line,) = parse(LEAST | {"kind": "addon", "lines": lines}, NOW).addons
    return line


def test_of_an_add_on_only_what_was_given_is_kept() -> None:
    least = AddonLine(line=3, type="access")

    assert addon(trafficBytes=5) == replace(least, traffic_bytes=5)
    assert addon(deviceLimit=None) == replace(least, device_limit=None)
    assert addon(days=7, endsAt=None) == replace(least, days=7)
    assert addon(graceSeconds=0) == replace(least, grace_seconds=0)
    assert addon(squadIds=[], resetTraffic=False) == replace(least, squad_ids=())
    assert encode(addon(trafficBytes=None)) == (
        b'{"line":3,"type":"access","traffic_bytes":null}'
    )


@pytest.mark.parametrize(
    ("members", "code", "path"),
    [
        ({}, "missing_member", "lines[0]"),
        ({"days": None}, "missing_member", "lines[0]"),
        ({"resetTraffic": False}, "missing_member", "lines[0]"),
        ({"days": 1, "resetTraffic": True}, "invalid_member", "lines[0].resetTraffic"),
        ({"days": 1, "graceSeconds": None}, "invalid_member", "lines[0].graceSeconds"),
        ({"days": 1, "squadIds": None}, "invalid_member", "lines[0].squadIds"),
        (
            {"days": 1, "endsAt": "2030-01-01T00:00:00Z"},
            "invalid_member",
            "lines[0].endsAt",
        ),
    ],
)
def test_an_add_on_that_changes_nothing_or_too_much_is_refused(
    members: dict[str, object], code: str, path: str
) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        addon(**members)

    assert (refused.value.code, refused.value.path) == (code, path)


@pytest.mark.parametrize("text", ["a\x00", "\ud800", "a\udfff"])
def test_nul_and_lone_surrogates_are_refused(text: str) -> None:
    with pytest.raises(InvalidRequestError, match="orderId"):
        parse(LEAST | {"orderId": text}, NOW)


def test_every_currency_has_three_letters_and_at_most_four_digits() -> None:
    assert all(len(name) == 3 and name.isupper() for name in MINOR_DIGITS)
    assert set(MINOR_DIGITS.values()) == {0, 2, 3, 4}
    assert len(MINOR_DIGITS) > 150
