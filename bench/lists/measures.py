"""The measures of this family, over tables that are filled before the first round."""

from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from typing import Final

from bench.ground import Ground
from bench.lines import Measure
from bench.lists.asking import Asking
from bench.lists.cases import CASES
from bench.lists.laid import outbox
from bench.lists.laid.attempts import ATTEMPTS
from bench.lists.rows import lay
from bench.lists.telling import Telling, stories_of
from bench.sizes import FULL, Sizes
from domain.outbox import TOPICS
from infrastructure.postgres.database import Connection, connect

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
        conninfo = stack.enter_context(place.database())
        connection = stack.enter_context(closing(connect(conninfo)))
        lay_all(connection, rows)
        askings = [Asking(case, rows, connection) for case in CASES]
        for asking in askings:
            asking.prepare()
        place.checkpoint()

        @contextmanager
        def lend() -> Generator[Connection]:
            yield connection

        yield [*askings, Telling(lend, rows, stories_of(connection))]


def lay_all(connection: Connection, rows: int) -> None:
    """Fill each table once, whichever lists show it."""
    for table, columns in {case.table: case.rows for case in CASES}.items():
        _lay(connection, table, columns, rows)
    _lay(connection, "read_attempts_a", ATTEMPTS, rows)
    for table, laid in (
        ("read_outbox_lag_a", outbox.recorded),
        ("outbox_gone", outbox.gone),
    ):
        steps = {"minute": rows, "hour": rows // 60, "day": rows // 60 // 24, "ever": 1}
        for span, n in steps.items():
            _lay(connection, table, laid(span), max(n, len(TOPICS)))


def _lay(
    connection: Connection, table: str, columns: Mapping[str, str], rows: int
) -> None:
    lay(connection, table, columns, rows)
    connection.execute(f"VACUUM counterfoil.{table}".encode())
