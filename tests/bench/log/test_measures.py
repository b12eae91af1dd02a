"""A whole round of the family, with numbers so small that they say nothing."""

from pathlib import Path

import pytest

from bench.ground import ground
from bench.log import measures
from bench.sizes import Sizes

TINY = Sizes(
    rounds=1,
    drained_jobs=200,
    singles=3,
    bulks=1,
    bulk_jobs=20,
    pickups=3,
    idle_workers=1,
    idle_pickups=1,
    orders=3,
)


@pytest.mark.timeout(300)
@pytest.mark.slow
def test_a_round_measures_every_line_and_counts_every_row(tmp_path: Path) -> None:
    with ground(tmp_path, TINY.drained_jobs) as place, measures(place, TINY) as taken:
        told = {each.name: each.round(0) for each in taken}
        lines = [line for each in taken for line in each.lines]
        drawn = {each.name: each.series() for each in taken}

    assert all(line.of(told) > 0 for line in lines)
    sizes = [size for size, _ in drawn["log growth"]["batch store"]]
    assert sizes == [48, 480, 4_800, 14_400]
