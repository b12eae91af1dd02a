"""How long a failed job waits: doubling, capped, jittered, never in the past.

`base × 2^min(attempt, cap)`, so with base 5 s and cap 8 the waits after attempts
1, 2, 3 … are 10, 20, 40 … 1,280 s and then flat (requirements 5.3).  Jitter
spreads a herd; the delay is clamped before and after it, so that no stored
number, however large, can give a delay below the base or above the longest.
"""

from datetime import timedelta

import msgspec

LONGEST_BASE_SECONDS = 86_400.0
LARGEST_EXPONENT = 20


class Backoff(msgspec.Struct, frozen=True, kw_only=True):
    """The waiting rule of one job kind."""

    base_seconds: float = 5.0
    cap_exponent: int = 8
    """5 s × 2^8 = 1,280 s: the longest pause that operators accept."""
    jitter: float = 0.1
    """Largest share of the delay by which it is moved, up or down."""

    def __post_init__(self) -> None:
        """Refuse a rule that could retry at once or never."""
        if not 0 < self.base_seconds <= LONGEST_BASE_SECONDS:
            msg = "base_seconds: more than 0 and at most 86,400"
            raise ValueError(msg)
        if not 0 <= self.cap_exponent <= LARGEST_EXPONENT:
            msg = "cap_exponent: between 0 and 20"
            raise ValueError(msg)
        if not 0 <= self.jitter < 1:
            msg = "jitter: at least 0 and less than 1"
            raise ValueError(msg)

    @property
    def longest_seconds(self) -> float:
        """The delay that is never exceeded, before and after jitter."""
        return self.base_seconds * float(2**self.cap_exponent)

    def delay(self, attempt: int, spin: float) -> timedelta:
        """Return the wait after `attempt` (≥ 1); `spin` in [-1, 1] turns the jitter."""
        exponent = min(max(attempt, 0), self.cap_exponent)
        plain = min(self.base_seconds * float(2**exponent), self.longest_seconds)
        turned = plain * (1 + self.jitter * min(max(spin, -1.0), 1.0))
        return timedelta(
            seconds=min(max(turned, self.base_seconds), self.longest_seconds)
        )
