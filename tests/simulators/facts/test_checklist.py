"""The checklist of facts and the table of cases say the same, in both directions."""

import ast
from collections import Counter
from pathlib import Path

import pytest

from tests.simulators.facts import checklist
from tests.simulators.facts.tables import CASES

ROOT = Path(__file__).parents[3]
FACTS = checklist.facts()
SECTIONS = ("1 #", "2 ", "3 ", "4", "5", "6")
"""How the headings of the page's six sections begin."""


def test_every_fact_has_one_id_and_every_case_one_fact() -> None:
    ids = Counter(fact.id for fact in FACTS)
    cases = Counter(case.fact for case in CASES)

    assert [name for name, times in ids.items() if times > 1] == []
    assert [name for name, times in cases.items() if times > 1] == []


def test_every_fact_has_its_case_or_the_reason_why_not() -> None:
    expected = {fact.id for fact in FACTS if fact.has_case}
    cases = {case.fact for case in CASES}

    assert expected - cases == set()
    assert cases - expected == set()


def test_every_part_of_the_page_is_in_the_list() -> None:
    corrections = {fact.section.split()[1] for fact in FACTS if fact.section[0] == "1"}

    assert corrections == {f"#{number}" for number in range(1, 13)}
    for begin in SECTIONS:
        assert any(fact.section.startswith(begin) for fact in FACTS), begin
    assert all(fact.section.startswith(SECTIONS) for fact in FACTS)


def test_a_fact_that_is_shown_elsewhere_is_shown_there() -> None:
    shown = [fact.shown_at for fact in FACTS if fact.shown_at is not None]

    for place in shown:
        file, _, name = place.partition("::")
        tree = ast.parse((ROOT / file).read_text("utf-8"))
        tests = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        assert name in tests, place


@pytest.mark.parametrize(
    "line", ["word", " ", "id   words [not:]", "id   words [why: because]"]
)
def test_what_is_no_fact_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match="no fact"):
        checklist.read(line, "3 Users")


def test_a_fact_belongs_to_a_section() -> None:
    with pytest.raises(ValueError, match="no fact"):
        checklist.read("id   words", "")
