"""What each adapter makes of a provider that goes wrong, beside what it really did."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from application.goods.port import (
    Absent,
    Accepted,
    Confirmed,
    Rejected,
    SubmitAnswer,
    Unavailable,
    Unknown,
)
from infrastructure.simulators.gateway.faults import FAULT_NAMES, FaultRule
from infrastructure.simulators.gateway.simulator import GatewaySimulator
from tests.providers.goods.stage import KEY, adapter, gateway, purchase
from tests.providers.stage import OpenGuard

NO_ANSWER = Unknown("gateway_unreachable")
REFUSED = Rejected("permanent", "gateway_rejected")
SPENT = Unavailable("provider_balance", "insufficient_balance")
FAILED = Unavailable("retryable", "purchase_failed")

MEANT: dict[str, tuple[SubmitAnswer, SubmitAnswer, int]] = {
    "slow": (Confirmed(), Confirmed(), 1),
    "cut_before": (NO_ANSWER, NO_ANSWER, 0),
    "error_before": (Unknown("http_503"), Unknown("http_503"), 0),
    "garbage_before": (NO_ANSWER, NO_ANSWER, 0),
    "limited": (Unavailable("retryable", "http_429", 7.0),) * 2 + (0,),
    "unauthorized": (Unavailable("provider_unavailable", "http_401"),) * 2 + (0,),
    "forbidden": (Unavailable("provider_unavailable", "http_403"),) * 2 + (0,),
    "balance_out": (REFUSED, SPENT, 0),
    "redirect": (Unknown("http_302"), Unknown("http_302"), 0),
    "lie_delivered": (Confirmed(), Confirmed(), 0),
    "cut_after": (NO_ANSWER, NO_ANSWER, 1),
    "late": (Confirmed(), Confirmed(), 1),
    "twice": (Confirmed(), Confirmed(), 1),
    "error_after": (Unknown("http_503"), Unknown("http_503"), 1),
    "garbage_after": (NO_ANSWER, NO_ANSWER, 1),
    "big_body": (NO_ANSWER, NO_ANSWER, 1),
    "lie_failed": (REFUSED, FAILED, 1),
    "deliver_later": (Confirmed(), Accepted(), 0),
    "fail_later": (Confirmed(), Accepted(), 0),
}
"""What the blind and the idempotent adapter say, and how many effects there are."""


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[GatewaySimulator]:
    with gateway(tmp_path) as opened:
        yield opened


def bare(answer: SubmitAnswer) -> SubmitAnswer:
    """Return the answer without the reference that nobody can foresee."""
    return type(answer)() if isinstance(answer, Confirmed | Accepted) else answer


@pytest.mark.parametrize("name", FAULT_NAMES)
@pytest.mark.parametrize("which", ["fragment", "idempotent"])
def test_an_answer_is_what_can_be_known_by_it(
    shop: GatewaySimulator, which: str, name: str
) -> None:
    seconds = 0.01 if name in {"slow", "late"} else None
    rule = FaultRule(name, seconds=seconds, status=503, retry_after=7)
    shop.faults.set(rule)

    answer = adapter(which, shop.url).submit(purchase(), OpenGuard())

    blind, idempotent, effects = MEANT[name]
    assert bare(answer) == (blind if which == "fragment" else idempotent)
    assert len(shop.effects()) == effects
    (request,) = shop.requests()
    assert request.decision_key == KEY
    assert request.key == (None if which == "fragment" else KEY)


@pytest.mark.parametrize(
    ("name", "bought"), [("cut_after", True), ("cut_before", False)]
)
def test_a_look_up_tells_what_the_connection_did_not(
    shop: GatewaySimulator,
    name: str,
    bought: bool,  # noqa: FBT001 - a table
) -> None:
    provider = adapter("idempotent", shop.url)
    shop.faults.set(FaultRule(name, times=1))
    provider.submit(purchase(), OpenGuard())

    answer = provider.look_up(KEY, None, OpenGuard())

    assert isinstance(answer, Confirmed if bought else Absent)
    if isinstance(answer, Absent):
        assert answer.at is not None


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("error_before", "http_502"),
        ("limited", "http_429"),
        ("unauthorized", "http_401"),
        ("garbage_before", "gateway_unreachable"),
        ("cut_before", "gateway_unreachable"),
        ("big_body", "gateway_unreachable"),
    ],
)
@pytest.mark.parametrize("is_bought", [True, False])
def test_a_look_up_that_goes_wrong_is_never_an_absence(
    shop: GatewaySimulator,
    name: str,
    code: str,
    is_bought: bool,  # noqa: FBT001 - a table
) -> None:
    provider = adapter("idempotent", shop.url)
    if is_bought:
        provider.submit(purchase(), OpenGuard())
    shop.faults.set(FaultRule(name, on="lookup"))

    answer = provider.look_up(KEY, None, OpenGuard())

    assert answer == Unknown(
        "http_404" if (name, is_bought) == ("big_body", False) else code
    )


def test_a_balance_that_goes_wrong_is_unknown(shop: GatewaySimulator) -> None:
    shop.faults.set(FaultRule("error_before", on="balance"))

    answer = adapter("idempotent", shop.url).balance(OpenGuard())

    assert answer == Unknown("http_502")


@pytest.mark.parametrize("which", ["fragment", "idempotent"])
def test_what_never_left_was_not_bought(tmp_path: Path, which: str) -> None:
    with gateway(tmp_path) as opened:
        url = opened.url

    answer = adapter(which, url).submit(purchase(), OpenGuard())

    assert answer == Unavailable("provider_unavailable", "gateway_unreachable")


def test_another_request_under_the_key_is_not_known_to_have_failed(
    shop: GatewaySimulator,
) -> None:
    provider = adapter("idempotent", shop.url)
    provider.submit(purchase(), OpenGuard())

    answer = provider.submit(purchase(recipient="bob_lee"), OpenGuard())

    assert answer == Unknown("key_reused")


@pytest.mark.parametrize(
    ("members", "answer"),
    [
        ({"recipient": "no"}, Rejected("recipient_invalid", "recipient_invalid")),
        ({"quantity": 0}, Rejected("permanent", "unsellable_product")),
    ],
)
def test_what_a_provider_does_not_sell_is_refused_by_it(
    shop: GatewaySimulator, members: dict[str, Any], answer: Rejected
) -> None:
    provider = adapter("idempotent", shop.url)

    assert provider.submit(purchase(**members), OpenGuard()) == answer
