"""Links between the documents of the repository lead somewhere."""

import re
from pathlib import Path

import pytest

from tests.docs.stage import ROOT

_LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s]+)\)")
_FILE = re.compile(
    r"`((?:api|application|bench|deploy|docs|domain|examples|infrastructure"
    r"|migrations|projections|scripts|tests)/[\w./-]*)`"
)
_HEADING = re.compile(r"^#+ (?P<text>.+)$", re.MULTILINE)
_CODE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)

DOCUMENTS = sorted(
    file.relative_to(ROOT)
    for pattern in ("*.md", "docs/**/*.md", "examples/**/*.md")
    for file in ROOT.glob(pattern)
)
LONGEST = 150
"""Lines of a document that teaches one task."""


def anchors(document: Path) -> set[str]:
    """Return the anchors of a document's headings, as hosts of Markdown make them."""
    text = _CODE.sub("", document.read_text("utf-8"))
    return {
        re.sub(r"[^\w\- ]", "", heading["text"].lower()).replace(" ", "-")
        for heading in _HEADING.finditer(text)
    }


@pytest.mark.parametrize("document", DOCUMENTS, ids=str)
def test_relative_links_lead_somewhere(document: Path) -> None:
    text = _CODE.sub("", (ROOT / document).read_text("utf-8"))
    for link in _LINK.finditer(text):
        target, _, anchor = link["target"].partition("#")
        if "://" in target:
            continue
        there = (ROOT / document).parent / target if target else ROOT / document
        assert there.exists(), link["target"]
        if anchor:
            assert anchor in anchors(there), link["target"]


@pytest.mark.parametrize("document", DOCUMENTS, ids=str)
def test_files_that_are_named_exist(document: Path) -> None:
    text = (ROOT / document).read_text("utf-8")
    # NNNN stands for any number.
    named = {it[1] for it in _FILE.finditer(text) if "NNNN" not in it[1]}

    assert {it for it in named if not (ROOT / it).exists()} == set()


@pytest.mark.parametrize(
    "document", sorted(ROOT.glob("docs/*.md")), ids=lambda it: it.name
)
def test_a_document_is_short_enough_to_be_read(document: Path) -> None:
    assert len(document.read_text("utf-8").splitlines()) <= LONGEST
