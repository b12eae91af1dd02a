"""How often somebody may ask: buckets that fill up again steadily, one a policy.

A bucket holds a policy's quota, and a whole quota runs into it within its window.  A
request takes one out of every bucket, or, where one is empty, out of none: whoever goes
on asking meanwhile is not held back for longer by that.
"""

from collections.abc import Sequence
from math import ceil

import msgspec


class Policy(msgspec.Struct, frozen=True):
    """How often something may be asked for."""

    name: str
    """`burst`, `hour`."""
    quota: int
    window_seconds: int

    @property
    def rate(self) -> float:
        """How many a second run into its bucket."""
        return self.quota / self.window_seconds


class Left(msgspec.Struct, frozen=True):
    """What one policy leaves to whoever asked."""

    policy: Policy
    remaining: int
    reset_seconds: int
    """Until the whole quota is there again."""


class Allowance(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a request may go on, and what is left after it."""

    left: tuple[Left, ...]
    """One for each policy, in their order."""
    violated: tuple[str, ...] = ()
    """Names of the policies that are used up; none: the request may go on."""
    retry_after_seconds: int = 0
    """When it may be tried again, of a request that may not go on."""

    @property
    def is_allowed(self) -> bool:
        """Whether the request may go on."""
        return not self.violated


def full(policies: Sequence[Policy]) -> tuple[float, ...]:
    """Return the buckets of somebody who has not asked for long."""
    return tuple(float(policy.quota) for policy in policies)


def take(
    policies: Sequence[Policy], levels: Sequence[float], elapsed_seconds: float
) -> tuple[tuple[float, ...], Allowance]:
    """Return the buckets after one request, and whether that may go on.

    `levels` are what was in the buckets `elapsed_seconds` ago.
    """
    elapsed = max(elapsed_seconds, 0.0)
    now = [
        min(float(policy.quota), level + elapsed * policy.rate)
        for policy, level in zip(policies, levels, strict=True)
    ]
    empty = [
        (policy, level)
        for policy, level in zip(policies, now, strict=True)
        if level < 1.0
    ]
    after = now if empty else [level - 1.0 for level in now]
    return tuple(after), Allowance(
        left=tuple(
            Left(policy, int(level), ceil((policy.quota - level) / policy.rate))
            for policy, level in zip(policies, after, strict=True)
        ),
        violated=tuple(policy.name for policy, _ in empty),
        retry_after_seconds=max(
            (ceil((1.0 - level) / policy.rate) for policy, level in empty), default=0
        ),
    )
