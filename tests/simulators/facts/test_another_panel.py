"""The suite is pointed at a panel of which it knows nothing but URL and token."""

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from infrastructure.simulators.panel.simulator import PanelSimulator
from tests.simulators.facts.address import (
    ANOTHER,
    SIMULATED_TOKEN,
    VARIABLES,
    named,
)
from tests.simulators.facts.tables import CASES
from tests.simulators.stage import SQUADS

ROOT = Path(__file__).parents[3]
FILE = "tests/simulators/facts/test_facts.py"
NEEDS = Counter(case.needs for case in CASES)


@pytest.mark.skipif(ANOTHER is not None, reason="another panel is asked already")
def test_it_asks_all_that_needs_no_control_and_leaves_no_user(tmp_path: Path) -> None:
    book = tmp_path / "panel.db"
    with PanelSimulator(book=book, token=SIMULATED_TOKEN, squads=SQUADS) as panel:
        done = ask(f"{panel.url}/", SIMULATED_TOKEN)
        left, asked = panel.users(), panel.book()

    left_out = {need.value: n for need, n in NEEDS.items() if need is not None}
    told = re.findall(r"SKIPPED \[(\d+)\] .*: needs (.+), and this is", done.stdout)
    assert done.returncode == 0, done.stdout
    assert f"{NEEDS[None]} passed, {sum(left_out.values())} skipped" in done.stdout
    assert {what: int(number) for number, what in told} == left_out
    assert asked
    assert left == []


def ask(url: str, token: str) -> subprocess.CompletedProcess[str]:
    """Ask the facts of that panel, in a process of their own."""
    named_so = dict(zip(VARIABLES, (url, token), strict=True))
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", FILE],
        cwd=ROOT,
        env={**os.environ, **named_so},
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )


def test_a_panel_is_named_by_both_variables() -> None:
    url, token = VARIABLES

    assert named({}) is None
    assert named({url: "http://panel:3000/", token: "t"}) == ("http://panel:3000", "t")
    for one, other in ((url, token), (token, url)):
        with pytest.raises(ValueError, match=f"{other} is missing"):
            named({one: "x"})
