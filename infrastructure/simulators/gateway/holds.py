"""Where a request to the gateway can be stopped.

before_accept  the request is in the ledger, nothing is bought
after_accept   it is bought and in the ledger, nothing is answered
before_lookup  somebody asks what became of a purchase, nothing is answered
"""

from typing import Final, NamedTuple

from infrastructure.simulators import holds

POINTS: Final = ("before_accept", "after_accept", "before_lookup")


class Passing(NamedTuple):
    """A request, at one of the points."""

    point: str
    names: tuple[str, ...]


type Hold = holds.Hold[Passing, int]
"""The request that it caught is known by its number in the ledger."""


class Holds(holds.Holds[Passing, int]):
    """All stops that were set."""

    def add(self, point: str, match: str = "") -> Hold:
        """Return a new stop for the next request that fits.

        Raises:
            ValueError: there is no such point.
        """
        if point not in POINTS:
            msg = f"point must be one of {', '.join(POINTS)}"
            raise ValueError(msg)

        def fits(passing: Passing) -> bool:
            return passing.point == point and any(
                match in name for name in passing.names
            )

        return self.set(fits, f"request at {point}")

    def pass_by(self, point: str, names: tuple[str, ...], seq: int) -> bool:
        """Stand still if a stop is meant for this request; return whether to go on."""
        hold = self.take(Passing(point, names))
        return hold is None or hold.stand(seq)
