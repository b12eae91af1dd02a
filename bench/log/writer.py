"""One writing process: `python -m bench.log.writer`.

It reads lines `open VARIANT CONNINFO`, and lines `write VARIANT BATCH BATCHES`, which
it answers with `ready` once everything that it will write is made, and, at the line
`go`, with when it began and ended, in nanoseconds of the machine's monotonic clock,
and how many events it has written.
"""

import sys
import time
from typing import Final

from bench.log.ways import WAYS, Way

_WARM_UP: Final = 6
"""Batches before the clock runs: statements get prepared."""


def main() -> None:
    """Serve until the input ends."""
    ways: dict[str, Way] = {}
    for line in sys.stdin:
        asked, variant, rest = line.rstrip("\n").split(" ", 2)
        if asked == "open":
            ways[variant] = WAYS[variant](rest)
            print("ready", flush=True)
        else:
            batch, batches = rest.split()
            _write(ways[variant], int(batch), int(batches))


def _write(way: Way, batch: int, batches: int) -> None:
    for _ in range(_WARM_UP):
        way.write(way.make(batch))
    made = [way.make(batch) for _ in range(batches)]
    print("ready", flush=True)
    sys.stdin.readline()
    began = time.monotonic_ns()
    for each in made:
        way.write(each)
    print(began, time.monotonic_ns(), (batches + _WARM_UP) * batch, flush=True)


if __name__ == "__main__":
    main()
