"""A whole run of the bench, with numbers so small that they say nothing."""

from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from bench.__main__ import measure
from bench.report import Report, show, write
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
def test_a_run_measures_everything_and_reports_it(tmp_path: Path) -> None:
    screen = Console(record=True, width=120)

    report = measure(tmp_path, TINY, screen)
    show(report, screen)
    as_json, as_markdown = write(report, tmp_path / "out")

    assert all(figure.value > 0 for figure in report.figures)
    assert msgspec.json.decode(as_json.read_bytes(), type=Report) == report
    for figure in report.figures:
        assert figure.title in as_markdown.read_text()
        assert figure.title in screen.export_text(clear=False)
