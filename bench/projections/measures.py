"""The measures of this family, and the log that is made for them."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Final

from bench.ground import Ground
from bench.lines import Measure
from bench.projections.rebuilds import Rebuilds
from bench.projections.recorded import fill
from bench.sizes import Sizes

_FOLLOWED: Final = 100
"""The library's runner takes one hundredth of the log: at its pace, seconds."""


@contextmanager
def measures(place: Ground, sizes: Sizes) -> Generator[Sequence[Measure]]:
    """Give what is measured, over a log of as many events as the run asks for."""
    with place.database() as conninfo:
        events = fill(place, conninfo, sizes.projected_events)
        yield [Rebuilds(place, conninfo, max(events // _FOLLOWED, 100))]
