"""The measures of this family, and the log that is made for them."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Final

from bench.ground import Ground
from bench.lines import Measure
from bench.projections.rebuilds import Rebuilds
from bench.projections.recorded import fill
from bench.projections.stock import last_position
from bench.sizes import Sizes
from projections.read_models.all import ALL

_FOLLOWED: Final = 100
"""The library's runner takes one hundredth of the log: at its pace, seconds."""
_LEAST: Final = 300


@contextmanager
def measures(place: Ground, sizes: Sizes) -> Generator[Sequence[Measure]]:
    """Give what is measured, over a log of as many events as the run asks for."""
    with place.database() as conninfo:
        events = fill(place, conninfo, sizes.projected_events)
        followed = max(events // _FOLLOWED, _LEAST)
        # What reads nothing of the beginning of the log has no pace there.
        measured = [each for each in ALL if last_position(conninfo, each, followed)]
        yield [Rebuilds(place, conninfo, followed, measured)]
