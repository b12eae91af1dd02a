"""The bench of the API measures what it says, of a real process."""

from pathlib import Path

import pytest

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
