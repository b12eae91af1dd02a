"""The measures of this family, and what is prepared for them."""

from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager

from bench.ground import Ground
from bench.lines import Measure
from bench.log.appends import Appends, appends
from bench.log.growth import Growth, growth
from bench.log.lifecycle import Lifecycle
from bench.sizes import Sizes


@contextmanager
def measures(place: Ground, sizes: Sizes) -> Generator[Sequence[Measure]]:
    """Give what is measured; its processes and databases end with the block."""
    with ExitStack() as stack:
        written: Appends = stack.enter_context(appends(place, sizes.singles))
        grown: Growth = stack.enter_context(growth(place, sizes))
        yield [written, Lifecycle(place, sizes.singles), grown]
