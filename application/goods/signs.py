"""What a provider's answer says about the provider itself."""

from typing import Final, assert_never

from application.goods.port import (
    Absent,
    Accepted,
    Confirmed,
    LookupAnswer,
    Rejected,
    SubmitAnswer,
    Unavailable,
    Unknown,
    Unsent,
)
from domain.goods.answers import PROVIDER_BALANCE, PROVIDER_UNAVAILABLE
from domain.goods.health import Sign

ILL: Final = frozenset({PROVIDER_BALANCE, PROVIDER_UNAVAILABLE})
"""Classes that every other purchase would meet as well."""


def sign_of(answer: SubmitAnswer | LookupAnswer) -> tuple[Sign, str | None]:
    """Return what an answer says of whoever gave it, and the code of a failure."""
    match answer:
        case Confirmed() | Accepted() | Rejected() | Absent():
            return Sign.SUCCESS, None
        case Unavailable():
            is_ill = answer.failure_class in ILL
            return (Sign.FAILURE, answer.code) if is_ill else (Sign.NOTHING, None)
        case Unknown():
            return Sign.FAILURE, answer.code
        case Unsent():
            return Sign.NOTHING, None
        case _:
            assert_never(answer)
