"""The measures of this family, over tables that are filled before the first round."""

from collections.abc import Generator, Sequence
from contextlib import ExitStack, closing, contextmanager
from typing import Final

from bench.ground import Ground
from bench.lines import Measure
from bench.lists.asking import Asking
from bench.lists.cases import CASES
from bench.lists.rows import lay
from bench.sizes import FULL, Sizes
from infrastructure.postgres.database import connect

ROWS: Final = 1_000_000
"""Of each list."""
_LEAST: Final = 200


@contextmanager
def measures(place: Ground, sizes: Sizes) -> Generator[Sequence[Measure]]:
    """Give what is measured; its tables are dropped afterwards.

    Never analyzed: no plan may depend on what the planner knows.
    """
    share = min(1.0, sizes.drained_jobs / FULL.drained_jobs)
    rows = max(_LEAST, int(ROWS * share))
    with ExitStack() as stack:
        askings: list[Measure] = []
        for case in CASES:
            conninfo = stack.enter_context(place.database())
            connection = stack.enter_context(closing(connect(conninfo)))
            lay(connection, case.table, case.rows, rows)
            connection.execute(f"VACUUM counterfoil.{case.table}".encode())
            asking = Asking(case, rows, connection)
            asking.prepare()
            askings.append(asking)
        place.checkpoint()
        yield askings
