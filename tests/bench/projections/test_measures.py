"""A whole round of the family, with numbers so small that they say nothing."""

from pathlib import Path

import pytest

from bench.ground import ground
from bench.projections.measures import measures
from bench.sizes import Sizes
from projections.read_models.all import ALL

TINY = Sizes(
    rounds=1,
    drained_jobs=4,
    singles=1,
    bulks=1,
    bulk_jobs=1,
    pickups=1,
    idle_workers=1,
    idle_pickups=1,
    orders=1,
    projected_events=1_000,
)


@pytest.mark.timeout(300)
@pytest.mark.slow
def test_a_round_rebuilds_and_follows_every_projection(tmp_path: Path) -> None:
    with ground(tmp_path, TINY.drained_jobs) as place, measures(place, TINY) as taken:
        (rebuilds,) = taken
        told = {rebuilds.name: rebuilds.round(0)}

    assert all(line.of(told) > 0 for line in rebuilds.lines)
    assert len(told[rebuilds.name]) >= 2 * (len(ALL) - 1)
