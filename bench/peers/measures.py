"""The measures of the comparison, over databases prepared once for all rounds."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Final

from bench.ground import Ground
from bench.lines import Measure
from bench.peers.drain import Drain
from bench.peers.enqueue import Bulk, Plain, Single
from bench.peers.field import Fields
from bench.peers.pickup import PickUp
from bench.peers.system import System
from bench.peers.systems import (
    COUNTERFOIL,
    COUNTERFOIL_POLLING,
    GRAPHILE_WORKER,
    PGQUEUER,
    SYSTEMS,
)
from bench.sizes import Sizes

_FLOOR: Final = "bench_floor_waiting"
"""As many jobs wait in it as for ours, in the same rows."""
_IDLE_TIMES: Final = 4
"""Idle samples of each queue, for each of one worker in the bench of ours alone."""


@contextmanager
def measures(
    place: Ground,
    sizes: Sizes,
    systems: Sequence[System] = SYSTEMS,
    fields: Fields | None = None,
) -> Generator[Sequence[Measure]]:
    """Give the measures of `systems`; who cannot be measured is told in `fields`."""
    fields = fields or Fields()
    fields.prepare(place, systems, sizes.drained_jobs)
    floor_jobs = int(sizes.drained_jobs * COUNTERFOIL.share)
    place.fill(_FLOOR, floor_jobs)
    also = {COUNTERFOIL.name: COUNTERFOIL_POLLING}
    yield [
        Drain(
            fields,
            "drain 1",
            "drain of no-op jobs, one worker process",
            costs=True,
            targets={
                PGQUEUER.name: "≥ 1.5",
                GRAPHILE_WORKER.name: "≥ 1.0",
            },
            floor=(place, _FLOOR, floor_jobs),
        ),
        Drain(fields, "drain 2", "drain of no-op jobs, two worker processes", 2),
        Drain(
            fields,
            "calls",
            "drain with a provider's call of 5 ms, one worker process",
            mode="call",
        ),
        Bulk(fields, place, sizes.bulks),
        Single(fields, sizes.singles),
        Plain(place, sizes.singles),
        PickUp(fields, sizes.pickups, is_idle=False, also=also),
        PickUp(fields, _IDLE_TIMES * sizes.idle_pickups, is_idle=True, also=also),
    ]
