"""The panel answers as it was observed to, fact by fact.

The facts are in `checklist.txt`, the cases in `cases/`. They are asked of a simulated
panel, or of the real one that the environment names (docs/panel.md).
"""

import pytest

from tests.simulators.facts.case import Case
from tests.simulators.facts.stage import Stage
from tests.simulators.facts.tables import CASES


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.fact)
def test_the_panel_answers(case: Case, stage: Stage) -> None:
    assert case.done(stage) == case.answer
