"""What is written down names its ids whole, and no card."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.text import redact

DIGITS = "01a22c22-c731-73ee-8339-531634550470"


@given(st.uuids() | st.just(UUID(DIGITS)) | st.just(UUID("1" * 32)))
def test_an_id_is_never_taken_for_a_cards_number(named: UUID) -> None:
    told = f"operation {named} is succeeded ({str(named).upper()})"

    assert redact(told) == told


@pytest.mark.parametrize(
    "card",
    [
        "4111111111111111",
        "4111 1111 1111 1111",
        "4111-1111-1111-1111",
        f"{DIGITS} 4111-1111-1111-1111",
        "x-4111111111111111",
    ],
)
def test_i12_a_cards_number_is_masked_beside_whatever_it_stands(card: str) -> None:
    told = redact(f"card {card} was refused")

    assert "4111" not in told
    assert "[redacted]" in told
