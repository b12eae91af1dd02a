"""What may be said about maintenance: readable, bounded, nothing that shows not."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.errors import InvalidRequestError
from domain.maintenance.aggregate import Announcement
from domain.maintenance.parse import read_announcement, read_reason, read_scope

GOOD: dict[str, Any] = {
    "scope": "panel",
    "reason": "the panel moves",
    "notice_ru": "Работы идут\n Ждите",
    "notice_en": "We are at work",
    "expected_return": "2030-01-31T07:00:00+03:00",
}


def read(**members: object) -> Announcement:
    given: dict[str, Any] = GOOD | members
    return read_announcement(**given)


def refused(**members: object) -> tuple[str, str]:
    with pytest.raises(InvalidRequestError) as error:
        read(**members)
    return error.value.code, error.value.path


def test_what_is_said_is_kept_as_it_is() -> None:
    said = read()

    assert said.notice_ru == "Работы идут\n Ждите"
    assert said.expected_return is not None
    assert said.expected_return.isoformat() == "2030-01-31T04:00:00+00:00"
    assert read(expected_return=None).expected_return is None


@pytest.mark.parametrize("scope", ["panel", "all", "goods:stars", "goods:a-1_b"])
def test_a_scope_is_the_panel_a_provider_or_everything(scope: str) -> None:
    assert read_scope(scope) == scope


@pytest.mark.parametrize(
    "scope", ["", "goods", "PANEL", "panel ", "goods:", "goods:Stars", "goods:a\n"]
)
def test_an_unknown_scope_is_refused_with_the_known_ones(scope: str) -> None:
    with pytest.raises(InvalidRequestError, match="one of panel, all"):
        read_scope(scope)


@pytest.mark.parametrize(
    "notice",
    [
        "",
        "  \n ",
        "hm",
        "x" * 1001,
        "…\u2009!",
        "a\x00bc",
        "a\x1b[2Jbc",
        "ab\u202ecd",
        "ab\u2066cd",
        "ab\udcffcd",
        "a\rbcd",
        "ab\u2028cd",
        "ab\U000e0041cd",
        "write to us: password=hunter2",
        "pay to 4111 1111 1111 1111",
    ],
)
def test_a_notice_that_nobody_should_be_shown_is_refused(notice: str) -> None:
    assert refused(notice_ru=notice) == ("invalid_member", "noticeRu")
    assert refused(notice_en=notice) == ("invalid_member", "noticeEn")


@pytest.mark.parametrize(
    "notice",
    [
        "x" * 1000,
        "Работы после\u00a023:00 🛠\ufe0f",
        "תחזוקה עד 04:00",
        "صيانة\nحتى 04:00",
        "👩\u200d🔧 works",
    ],
)
def test_a_notice_may_be_in_any_script_and_have_lines(notice: str) -> None:
    assert read(notice_en=notice).notice_en == notice


@pytest.mark.parametrize(
    "reason", ["hm", "x" * 201, "two\nlines", "turned \u202e round", "\u200bshy\u200b"]
)
def test_a_reason_is_one_line_of_3_to_200_characters(reason: str) -> None:
    assert refused(reason=reason) == ("invalid_member", "reason")


@pytest.mark.parametrize(
    "instant", ["tomorrow", "2030-01-31", "2030-01-31T04:00:00", "2030-02-30T04:00:00Z"]
)
def test_a_return_that_cannot_be_read_is_refused(instant: str) -> None:
    assert refused(expected_return=instant) == ("invalid_member", "expectedReturn")


@given(st.text(max_size=1100))
def test_any_notice_is_either_refused_or_fit_to_be_stored_and_shown(text: str) -> None:
    try:
        said = read(notice_ru=text)
    except InvalidRequestError:
        return
    assert 3 <= len(said.notice_ru) <= 1000
    assert said.notice_ru == text.strip()
    said.notice_ru.encode()
    assert not set(said.notice_ru) & set("\x00\x07\x1b\u202e")
    assert read(notice_ru=said.notice_ru) == said


@given(st.text(max_size=220))
def test_any_reason_is_either_refused_or_one_line(text: str) -> None:
    try:
        reason = read_reason(text)
    except InvalidRequestError:
        return
    assert reason == text
    assert len(reason.splitlines()) == 1
