"""The measures of this family, over tables that are filled before the first round."""

from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager

from bench.claims.claiming import Claiming
from bench.claims.drains import Drains
from bench.claims.growth import Beating, Reading
from bench.claims.tables import extent, tables
from bench.ground import Ground
from bench.lines import Measure
from bench.sizes import Sizes


@contextmanager
def measures(place: Ground, sizes: Sizes) -> Generator[Sequence[Measure]]:
    """Give what is measured; its tables are dropped afterwards."""
    with ExitStack() as stack:
        how_many = extent(sizes)
        laid = stack.enter_context(tables(place, how_many))
        yield [
            Claiming(laid, stack),
            Reading(laid, stack),
            Beating(place, stack),
            Drains(place, how_many.drained),
        ]
