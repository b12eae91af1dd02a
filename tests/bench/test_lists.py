"""The family of lists, over tables so small that its figures say nothing."""

from pathlib import Path

import pytest

from bench.ground import ground
from bench.lists.measures import measures
from bench.peers.lines import Sampled
from tests.bench.test_run import TINY


@pytest.mark.timeout(300)
@pytest.mark.slow
def test_every_question_is_asked_of_every_list(tmp_path: Path) -> None:
    with ground(tmp_path, TINY.drained_jobs) as place, measures(place, TINY) as taken:
        told = {each.name: each.round(0) for each in taken}

        assert all(figure > 0 for each in told.values() for figure in each.values())
        for each in taken:
            assert isinstance(each, Sampled)
            assert all(it.of(each.samples[0]) > 0 for it in each.quantiles)
