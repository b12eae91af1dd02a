"""The family of claims, on tables so small that its figures say nothing."""

from pathlib import Path

import pytest

from bench.claims import measures
from bench.ground import ground
from tests.bench.test_run import TINY


@pytest.mark.timeout(300)
@pytest.mark.slow
def test_every_claim_is_measured_beside_every_table(tmp_path: Path) -> None:
    with ground(tmp_path, TINY.drained_jobs) as place, measures(place, TINY) as taken:
        told = {each.name: each.round(0) for each in taken}

        assert all(figure > 0 for each in told.values() for figure in each.values())
        for each in taken:
            assert all(line.of(told) > 0 for line in each.lines)
            assert all(len(points) > 1 for points in each.series().values())
