"""Members of a request read one by one, and refused with their path.

Every reader here has its twin in migrations/0003_front_door.sql; a property test
holds the pairs together, so a request means the same to Python and to SQL.
"""

import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime
from typing import Final, NoReturn, TypeIs

from domain.errors import InvalidRequestError

type Members = Mapping[str, object]

MISSING: Final = object()
"""Stands for a member that is not there; None is JSON's null."""

INVALID: Final = "invalid_member"
"""The code of a member whose type, form or range is wrong."""

EARLIEST: Final = datetime(2000, 1, 1, tzinfo=UTC)
LATEST: Final = datetime(9999, 1, 1, tzinfo=UTC)
"""Bounds of every instant that a request may name, both included."""

_PATH_CHARACTERS: Final = 128

# No spaces, controls or marks that do not show: two ids that look the same must be
# the same. NUL and lone surrogates, the first and the last range, never reach SQL.
_INVISIBLE: Final = re.compile(
    r"[\x00-\x20\x7f-\xa0\xad\u061c\u1680\u180e\u2000-\u200f\u2028-\u202f"
    r"\u205f-\u206f\u3000\ufeff\ufff9-\ufffb\U000e0000-\U000e007f\ud800-\udfff]"
)
# One line of text: what would end it, or drive a terminal.
_CONTROLS: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_INSTANT: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,6})?"
    r"(Z|[+-](0[0-9]|1[0-4]):[0-5][0-9])"
)


def refuse(code: str, path: str, rule: str) -> NoReturn:
    """Refuse the member at `path`; `rule` says what would be right.

    Raises:
        InvalidRequestError: always.
    """
    raise InvalidRequestError(code, path, rule)


def invalid(path: str, rule: str) -> NoReturn:
    """Refuse a member whose value breaks `rule`."""
    refuse(INVALID, path, rule)


def refuse_unknown(members: Members, path: str, known: AbstractSet[str]) -> None:
    """Refuse members that are not `known`, naming the first in code point order."""
    unknown = sorted(members.keys() - known)
    if unknown:
        where = path + unknown[0][:_PATH_CHARACTERS]
        refuse("unknown_member", where, "there is no such member")


def is_object(member: object) -> TypeIs[Members]:
    """Whether `member` is a JSON object; its names are text, as JSON's always are."""
    return isinstance(member, Mapping)


def is_list(member: object) -> TypeIs[Sequence[object]]:
    """Whether `member` is a JSON array."""
    return isinstance(member, list)


def read_integer(member: object, path: str, low: int, high: int) -> int:
    """Return an integer from `low` to `high`; 1.0 is none."""
    if member is MISSING:
        refuse("missing_member", path, "is required")
    if type(member) is not int or not low <= member <= high:
        invalid(path, f"an integer from {low} to {high}")
    return member


def read_text(member: object, path: str, longest: int) -> str:
    """Return text of 1 to `longest` visible characters."""
    if member is MISSING:
        refuse("missing_member", path, "is required")
    if (
        not isinstance(member, str)
        or not 1 <= len(member) <= longest
        or _INVISIBLE.search(member)
    ):
        invalid(path, f"text of 1 to {longest} visible characters")
    return member


def read_sentence(member: object, path: str, shortest: int, longest: int) -> str:
    """Return text on one line that neither begins nor ends with nothing visible."""
    if member is MISSING:
        refuse("missing_member", path, "is required")
    if (
        not isinstance(member, str)
        or not shortest <= len(member) <= longest
        or _CONTROLS.search(member)
        or _INVISIBLE.search(member[0] + member[-1])
    ):
        invalid(path, f"text of {shortest} to {longest} characters on one line")
    return member


def read_flag(member: object, path: str) -> bool:
    """Return true or false."""
    if not isinstance(member, bool):
        invalid(path, "true or false")
    return member


def read_instant(member: object, path: str) -> datetime | None:
    """Return an instant in UTC that was told with its offset; null stays None."""
    if member is MISSING or member is None:
        return None
    told = _instant(member) if isinstance(member, str) else None
    if told is None or not EARLIEST <= told <= LATEST:
        rule = "an instant with its offset, such as 2030-01-31T12:00:00Z"
        invalid(path, f"{rule}, from 2000 to 9999")
    return told


def _instant(text: str) -> datetime | None:
    if _INSTANT.fullmatch(text) is None:
        return None
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
