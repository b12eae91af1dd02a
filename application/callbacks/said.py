"""What a callback says, whatever its provider calls it."""

from collections.abc import Callable
from typing import Final
from uuid import UUID

import msgspec

DELIVERED: Final = "delivered"
TAKEN: Final = "accepted"
NOT_BOUGHT: Final = "failed"

_PARTS: Final = 4
_LONGEST_NUMBER: Final = 6


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the purchase of one key."""

    kind: str
    """`delivered`, `accepted` or `failed`."""
    key: str
    reference: str | None


class Unsaid(msgspec.Struct, frozen=True):
    """Nothing that means anything here; `code` says why."""

    code: str
    is_known: bool
    """Whether it is of a kind that is known, but cannot be read."""


type ReadCallback = Callable[[str, bytes], Said | Unsaid]
"""Reads the body of a callback, given the name of the provider's adapter."""


class Decision(msgspec.Struct, frozen=True):
    """What a key stands for: one decision to buy a line of an order."""

    order: UUID
    line: int
    number: int


def decision_of(key: str) -> Decision | None:
    """Return what a key stands for; None: it is none of ours."""
    parts = key.split(":")
    if len(parts) != _PARTS or parts[0] != "goods":
        return None
    try:
        order = UUID(parts[1])
        line, number = (_number(part) for part in parts[2:])
    except ValueError:
        return None
    return Decision(order, line, number)


def _number(text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or len(text) > _LONGEST_NUMBER:
        msg = "no number"
        raise ValueError(msg)
    return int(text)
