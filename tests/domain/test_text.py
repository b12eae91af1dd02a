"""What is written down names its ids whole, and no card."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.text import redact, stated, storable, unquoted, veiled

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


@pytest.mark.parametrize(
    "said",
    [
        "Authorization: Basic {}",
        "bearer {}",
        "api key: {}",
        "the password {} was refused",
        "secret={}",
        "hwid = {}",
        "charge_id:{}",
        '{{"token": "{}"}}',
        "bot 110201543:AAH{}AAAAAAAAAAAAAAAAAAAAAAAA",
        "vless://{}@h.example:443",
        "postgresql://u:{}@h.example/db",
    ],
)
def test_i12_what_stands_behind_a_word_for_a_secret_is_masked(said: str) -> None:
    told = redact(said.format("hunter2hunter2"))

    assert "hunter2" not in told
    assert "[redacted]" in told


@pytest.mark.parametrize(
    "said",
    [
        "see https://h.example/sub/{}",
        "write to {}@h.example",
        "call +49 30 {} now",
        "tg://resolve?domain={}",
    ],
)
def test_i12_what_machines_say_names_nobody_and_no_link(said: str) -> None:
    told = said.format("1234567")

    assert "1234567" not in veiled(told)
    assert "1234567" not in storable(told)
    assert stated(told, 100) == told


@pytest.mark.parametrize(
    "told",
    [
        f"there is no token tok_{DIGITS}",
        f"token {DIGITS} is no more",
        "the token is not valid here",
        "order A-1001 waits for 3 days, 24:00:00",
        "Authorization: Bearer ffl_…",
        "GET /v1/admin/jobs?f=state:queued",
        "+1 of 12 jobs",
    ],
)
def test_what_is_no_secret_stays(told: str) -> None:
    assert storable(told) == told


def test_i12_a_decoder_does_not_tell_the_value_that_it_refused() -> None:
    told = "Invalid enum value 'it's mine' - at `$.mode`"

    assert unquoted(told) == "Invalid enum value - at `$.mode`"
    assert unquoted("Invalid value 'a'") == "Invalid value"
    assert unquoted("Expected `int`, got `str`") == "Expected `int`, got `str`"


def test_the_bound_of_a_number_is_no_card() -> None:
    rule = f"an integer from 0 to {2**63 - 1}"

    assert redact(rule) == rule
