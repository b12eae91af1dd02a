"""Tell what lasts when it begins, now and then while it lasts, and when it ends."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from infrastructure.processor.leases import boottime
from infrastructure.telemetry import Value, emit

AGAIN_SECONDS: Final = 600.0
"""How often what lasts is told: each log of an hour shows it."""


@dataclass(slots=True)
class _Episode:
    event: str
    told: dict[str, Value]
    at: float


class Episodes:
    """What is wrong with each of several things; of one thread."""

    def __init__(self, elapsed: Callable[[], float] = boottime) -> None:
        """Take the clock that says when to tell again."""
        self._elapsed = elapsed
        self._open: dict[str, _Episode] = {}

    def tell(self, about: str, event: str, **values: Value) -> None:
        """Tell that `event` is so of `about`, unless that was told already."""
        now = self._elapsed()
        last = self._open.get(about)
        if (
            last is None
            or (last.event, last.told) != (event, values)
            or now - last.at >= AGAIN_SECONDS
        ):
            self._open[about] = _Episode(event, values, now)
            emit(event, projection=about, **values)

    def end(self, about: str) -> None:
        """Tell that `about` is well again, if anything was told of it."""
        last = self._open.pop(about, None)
        if last is not None:
            emit("projection follows again", projection=about, after=last.event)
