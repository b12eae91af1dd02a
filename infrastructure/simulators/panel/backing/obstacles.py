"""What stands in the way of requests: a database or Redis that is down, locked rows.

A locked row is a user's row that another session of the database holds: reads pass, a
PATCH gives up after five seconds, the actions wait as long as it takes (remnawave.md 2,
"stuck row"). Redis matters only to tokens that the process does not remember.
"""

from dataclasses import dataclass, field
from typing import Final, Literal

type Redis = Literal["up", "frozen", "refusing"]

REDIS_STATES: Final[tuple[Redis, ...]] = ("up", "frozen", "refusing")

TRANSACTION_MS: Final = 5_000
"""How long a transaction of the panel may wait for a row before it is given up."""
REDIS_REFUSED_MS: Final = 9_000
"""How long the panel tries a Redis that refuses connections."""


class ObstructedError(Exception):
    """Something is in the way, so the request waits and is looked at again."""


@dataclass(slots=True)
class Obstacles:
    """All that is in the way now. Not thread-safe: its owner holds a lock."""

    database_down: bool = False
    redis: Redis = "up"
    locked: set[int] = field(default_factory=set[int])
    """Users whose rows another session of the database holds."""

    def clear(self) -> None:
        """Let everything pass."""
        self.database_down, self.redis = False, "up"
        self.locked.clear()
