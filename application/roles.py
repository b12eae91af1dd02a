"""What a process does, by the words that operators use.

jobs           claims, runs and settles jobs; rescues those of the dead
projections    carries read models forward, those that no other process leads
api            answers HTTP; a process of its own, or beside a worker in `up`
"""

from collections.abc import Collection
from typing import Final

JOBS: Final = "jobs"
PROJECTIONS: Final = "projections"
API: Final = "api"

ROLES: Final = (JOBS, PROJECTIONS)
"""What a worker does when nothing else is said."""


def chosen(only: Collection[str], without: Collection[str]) -> tuple[str, ...]:
    """Return the roles that remain; none of `only` means all of them."""
    return tuple(
        role for role in ROLES if (not only or role in only) and role not in without
    )
