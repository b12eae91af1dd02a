"""No operator acts without a name and a reason."""

import pytest

from application.operators.instruction import as_given, instruct
from domain.errors import InvalidRequestError


@pytest.mark.parametrize("reason", ["", "  ", "no", " no ", "x" * 401, "\n\t "])
def test_a_reason_of_less_than_3_or_more_than_400_characters_is_refused(
    reason: str,
) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        instruct("ann", reason)

    assert refused.value.code == "reason_required"
    assert refused.value.path == "reason"


@pytest.mark.parametrize("reason", ["why", "x" * 400, "панель чинили"])
def test_a_reason_of_3_to_400_characters_is_kept_as_it_is(reason: str) -> None:
    assert instruct("ann", reason).reason == reason


def test_secrets_and_what_cannot_be_stored_are_not_kept() -> None:
    told = instruct("a\x00nn", "token=abcdef123 was \ud800 wrong").reason

    assert "abcdef123" not in told
    assert "\ud800" not in told


def test_an_operator_without_a_name_is_refused() -> None:
    with pytest.raises(InvalidRequestError) as refused:
        instruct("  ", "a good reason")

    assert refused.value.path == "operator"


def test_an_id_is_kept_as_given_but_storable_and_short() -> None:
    assert as_given(" cdnow:17 ") == "cdnow:17"
    assert len(as_given("x" * 1000)) == 128
    assert "\x00" not in as_given("a\x00b")
