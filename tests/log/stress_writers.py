"""Writers that do all a transaction can do, in a process of their own.

`python -m tests.log.stress_writers CONNINFO THREADS SEED` connects, says so in a line,
writes until its standard input is closed, and says how many events it has committed.
"""

import random
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

from infrastructure.ids import new_id
from infrastructure.postgres.database import connect

VERSIONS = (1, 2, 3)

APPEND = """
INSERT INTO counterfoil.events
       (tenant_id, stream_id, version, type, schema, data, meta)
SELECT 'default', e.stream_id, e.version, 'job.cancel_requested', 1, '{}',
       '{"actor": {"type": "system", "id": "stress"}, "correlation_id": "stress"}'
  FROM unnest(%(streams)s::uuid[], %(versions)s::int[])
       WITH ORDINALITY AS e(stream_id, version, n)
 ORDER BY e.n
"""


class Writer:
    """One session that appends whole streams of three events until told to stop."""

    def __init__(self, conninfo: str, seed: int, stop: threading.Event) -> None:
        self._dice = random.Random(seed)  # noqa: S311 - a schedule, no secret
        self._stop = stop
        self._connection = connect(conninfo)
        self._committed = 0

    def run(self) -> int:
        """Return how many events were committed."""
        with self._connection:
            while not self._stop.is_set():
                self._step()
                self._linger(0.05)  # so that the reader keeps up, and reads the newest
        return self._committed

    def _step(self) -> None:
        kind = self._dice.random()
        if kind < 0.5:
            self._committed += self._append(self._dice.choice((1, 5, 20)))
        elif kind < 0.8:
            self._several_statements()
        else:
            self._savepoint()

    def _append(self, streams: int) -> int:
        ids = [new_id() for _ in range(streams) for _ in VERSIONS]
        for n in range(0, len(ids), len(VERSIONS)):
            ids[n : n + len(VERSIONS)] = [ids[n]] * len(VERSIONS)
        self._connection.execute(
            APPEND, {"streams": ids, "versions": list(VERSIONS) * streams}
        )
        return len(ids)

    def _linger(self, longest: float) -> None:
        """Keep whatever is open, open for a moment."""
        self._stop.wait(self._dice.random() * longest)

    def _several_statements(self) -> None:
        undone = self._dice.random() < 0.3
        written = 0
        with self._connection.transaction(force_rollback=undone):
            for _ in range(self._dice.randint(1, 6)):
                written += self._append(self._dice.choice((1, 3)))
                if self._dice.random() < 0.3:
                    self._linger(0.01)
        if not undone:
            self._committed += written

    def _savepoint(self) -> None:
        undone = self._dice.random() < 0.5
        with self._connection.transaction():
            with self._connection.transaction(force_rollback=undone):
                inner = self._append(2)
                self._linger(0.004)
            self._linger(0.004)
            outer = self._append(1)
        self._committed += outer if undone else outer + inner


def main() -> None:
    conninfo, threads, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    stop = threading.Event()
    writers = [Writer(conninfo, seed + n, stop) for n in range(threads)]
    sys.stdout.write("connected\n")
    sys.stdout.flush()
    with ThreadPoolExecutor(threads) as pool:
        runs = [pool.submit(writer.run) for writer in writers]
        sys.stdin.read()
        stop.set()
        committed = sum(run.result() for run in runs)
    sys.stdout.write(f"{committed}\n")


if __name__ == "__main__":
    main()
