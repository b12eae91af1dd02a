"""What an answer says about the provider that gave it."""

import pytest

from application.goods.port import (
    Absent,
    Accepted,
    Confirmed,
    Rejected,
    SubmitAnswer,
    Unavailable,
    Unknown,
    Unsent,
)
from application.goods.signs import sign_of
from domain.goods.health import Sign


@pytest.mark.parametrize(
    ("answer", "sign"),
    [
        (Confirmed(), Sign.SUCCESS),
        (Accepted(), Sign.SUCCESS),
        (Absent(), Sign.SUCCESS),
        (Rejected("permanent", "gateway_rejected"), Sign.SUCCESS),
        (Rejected("recipient_invalid", "invalid_username"), Sign.SUCCESS),
        (Unavailable("provider_unavailable", "http_403"), Sign.FAILURE),
        (Unavailable("provider_balance", "no_money"), Sign.FAILURE),
        (Unavailable("retryable", "http_429"), Sign.NOTHING),
        (Unknown("gateway_unreachable"), Sign.FAILURE),
        (Unsent("no_time"), Sign.NOTHING),
    ],
)
def test_what_an_answer_says_of_whoever_gave_it(
    answer: SubmitAnswer | Absent, sign: Sign
) -> None:
    assert sign_of(answer)[0] is sign
