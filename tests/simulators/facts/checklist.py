"""The list of facts, `checklist.txt`: each line one fact, with its id and its words.

## section                     as the facts' page divides them
id    what the panel does      has a case of that id
id    …                        [not: why it is nothing that a simulator answers]
id    …                        [at: the test elsewhere that shows it]
"""

import re
from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).with_name("checklist.txt")
LINE = re.compile(r"(\S+)\s+([^\[\]]+?)(?:\s+\[(not|at): ([^\[\]]+)\])?")


@dataclass(frozen=True)
class Fact:
    id: str
    section: str
    words: str
    reason: str | None = None
    """Why it has no case."""
    shown_at: str | None = None
    """File and name of the test that shows it instead."""

    @property
    def has_case(self) -> bool:
        return self.reason is None and self.shown_at is None


def facts() -> list[Fact]:
    """Return every fact, in the page's order.

    Raises:
        ValueError: a line cannot be understood, or stands before the first section.
    """
    section = ""
    found: list[Fact] = []
    for line in FILE.read_text("utf-8").splitlines():
        if line.startswith("## "):
            section = line.removeprefix("## ")
        elif line and not line.startswith("# "):
            found.append(read(line, section))
    return found


def read(line: str, section: str) -> Fact:
    match = LINE.fullmatch(line)
    if match is None or not section:
        msg = f"no fact: {line!r}"
        raise ValueError(msg)
    fact_id, words, kind, told = match.groups()
    return Fact(
        id=fact_id,
        section=section,
        words=words,
        reason=told if kind == "not" else None,
        shown_at=told if kind == "at" else None,
    )
