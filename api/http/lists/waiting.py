"""Reads that wait for a position of the log: for what somebody has just changed."""

from collections.abc import Generator
from contextlib import contextmanager
from threading import BoundedSemaphore
from typing import Final

from api.http.call import Call
from api.http.problems.problem import ProblemError, misfit
from domain.errors import CounterfoilError
from projections.reading import AtLeast

PROJECTION_BEHIND: Final = "projection_behind"
_PARAMETER: Final = "atPosition"
POSITION_AHEAD: Final = "position_ahead"

_BEHIND: Final = frozenset(
    {"projection_paused", "projection_outdated", "position_not_reached"}
)
_RETRY_AFTER: Final = {"Retry-After": "2"}


MOST_WAITING: Final = 8
"""Reads of a process that wait at once: each has one of the server's threads, which
answers nobody else meanwhile."""

_places: Final = BoundedSemaphore(MOST_WAITING)


def no_older_than(call: Call, position: int | None) -> AtLeast | None:
    """Return what lets one read wait for a position; None: it need not."""
    given = call.services.at_least(position)
    if given is None:
        return None

    def wait(projection: str, until: int) -> None:
        if not _places.acquire(blocking=False):
            detail = "too many reads wait for a position just now; ask again"
            raise ProblemError(PROJECTION_BEHIND, detail, headers=_RETRY_AFTER)
        try:
            given.wait(projection, until)
        finally:
            _places.release()

    return AtLeast(given.position, wait)


@contextmanager
def told_if_behind(name: str) -> Generator[None]:
    """Say of a read that its moment was not reached.

    Raises:
        ProblemError: it was not in time, or will not be; or there is no such position.
    """
    try:
        yield
    except CounterfoilError as error:
        if error.code in _BEHIND:
            detail = f"{name} do not show that position yet; ask again"
            raise ProblemError(
                PROJECTION_BEHIND, detail, headers=_RETRY_AFTER
            ) from error
        if error.code == POSITION_AHEAD:
            rule = "the log has no such position; give the position of an answer"
            raise misfit(_PARAMETER, rule, POSITION_AHEAD) from error
        raise
