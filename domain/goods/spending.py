"""How much may be spent at one provider within a window, and when the balance is low.

The database keeps the sum of a window and refuses what would go beyond it, under the
lock of the limit's row; here is the rule that it is equal to.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

import msgspec

from domain.event import Instant

DEFAULT_WINDOW: Final = timedelta(days=1)
LONGEST_WINDOW: Final = timedelta(days=31)

OFF: Final = 0
"""The limit that is none."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What a person has set for one provider."""

    currency: str
    spend_limit_minor: int = OFF
    spend_window: timedelta = DEFAULT_WINDOW
    low_balance_minor: int | None = None
    """Below that a person is told, once; None: never."""


class Spent(msgspec.Struct, frozen=True):
    """What one decision to buy may cost."""

    at: Instant
    minor: int


def spent_within(limits: Limits, spent: Sequence[Spent], now: Instant) -> int:
    """Return what was spent in the window that ends now."""
    return sum(each.minor for each in spent if each.at > now - limits.spend_window)


def may_spend(
    limits: Limits, spent: Sequence[Spent], minor: int, currency: str, now: Instant
) -> bool:
    """Whether a purchase stays within the limit; in another currency none does."""
    if limits.spend_limit_minor == OFF:
        return True
    if currency != limits.currency:
        return False
    return spent_within(limits, spent, now) + minor <= limits.spend_limit_minor


def is_low(limits: Limits, balance_minor: int, currency: str) -> bool:
    """Whether a person should be told of a balance."""
    return (
        limits.low_balance_minor is not None
        and currency == limits.currency
        and balance_minor < limits.low_balance_minor
    )
