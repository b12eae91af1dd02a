"""What a person says about maintenance, checked member by member.

The reason is one line for operators; the notices are for customers, may have lines,
and are stored as they are or refused: nobody is shown a text with half of it masked.
"""

import re
from typing import Final

from domain.maintenance.aggregate import Announcement
from domain.maintenance.gates import GOODS, SCOPES, is_scope
from domain.members import (
    invalid,
    read_instant,
    read_sentence,
    refuse,
)
from domain.text import redact

SHORTEST: Final = 3
"""Of a reason and of a notice, in characters."""

LONGEST_REASON: Final = 200
LONGEST_NOTICE: Final = 1000

# What drives a terminal or turns the reading order; the end of a line is none of it.
# Joiners and no-break spaces are letters of people's texts, so they stay.
_UNFIT: Final = re.compile(
    r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb"
    r"\U000e0000-\U000e007f\ud800-\udfff]"
)


def read_scope(scope: str) -> str:
    """Return what a window is about.

    Raises:
        InvalidRequestError: there is nothing of that name to close.
    """
    if not is_scope(scope):
        known = f"one of {', '.join(SCOPES)}, or {GOODS} and the name of a provider"
        refuse("unknown_scope", "scope", known)
    return scope


def read_reason(reason: str) -> str:
    """Return why, on one line.

    Raises:
        InvalidRequestError: it is too short, too long, or has more than one line.
    """
    if _UNFIT.search(reason):
        invalid("reason", "text without marks that do not show")
    return read_sentence(reason, "reason", SHORTEST, LONGEST_REASON)


def read_announcement(
    *,
    scope: str,
    reason: str,
    notice_ru: str,
    notice_en: str,
    expected_return: str | None,
) -> Announcement:
    """Return what is said, checked; whether the return is to come needs a clock.

    Raises:
        InvalidRequestError: a member is wrong.
    """
    return Announcement(
        scope=read_scope(scope),
        reason=read_reason(reason),
        notice_ru=_notice(notice_ru, "noticeRu"),
        notice_en=_notice(notice_en, "noticeEn"),
        expected_return=read_instant(expected_return, "expectedReturn"),
    )


def _notice(member: str, path: str) -> str:
    notice = member.strip()
    if not SHORTEST <= len(notice) <= LONGEST_NOTICE:
        invalid(path, f"text of {SHORTEST} to {LONGEST_NOTICE} characters")
    if _UNFIT.search(notice):
        invalid(path, "text without control characters and marks that turn it round")
    if not any(each.isalnum() for each in notice):
        invalid(path, "text with a word in it")
    if redact(notice) != notice:
        invalid(path, "text without what looks like a password, token or card number")
    return notice
