"""The bench of the API measures what it says, of a real process."""

from pathlib import Path

import pytest

from bench.ground import ground
from bench.http import lists
from bench.http.__main__ import measure, told

pytestmark = pytest.mark.slow


def test_each_side_answers_each_request(tmp_path: Path) -> None:
    tmp_path.chmod(0o711)

    figures = told(measure(tmp_path, rounds=1, seconds=0.3))

    assert set(figures) == {
        "api: read",
        "api: write",
        "api: write under a key",
        "bare: read",
        "bare: write",
    }
    assert all(each["requests_per_second"] > 0 for each in figures.values())
    assert figures["bare: read"]["of_bare"] == 1.0


def test_lists_are_asked_over_http_what_they_are_asked_inside(tmp_path: Path) -> None:
    tmp_path.chmod(0o711)

    with ground(tmp_path, 0) as place:
        figures = lists.measure(place, rows=500, rounds=1)

    assert "jobs" in figures
    for each in figures.values():
        assert each["questions"] > each["left_out"]
        assert 0 < each["p50_ms"] <= each["p99_ms"]
