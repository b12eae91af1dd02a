"""How one schema differs from another, one line for each object."""

import re
from typing import Final

from infrastructure.postgres.schema_description import Description

MOST_LINES: Final = 20
_SIDE_CHARACTERS: Final = 120
_LEAD_CHARACTERS: Final = 20


def difference(found: Description, needed: Description) -> tuple[str, ...]:
    """Return what `found` lacks, has too much, or has otherwise; () when equal.

    At most twenty lines; the last one then counts what was left out.
    """
    lines = [
        *(f"missing: {name}" for name in sorted(needed.keys() - found.keys())),
        *(f"not ours: {name}" for name in sorted(found.keys() - needed.keys())),
        *(
            f"differs: {name}: {_apart(found[name], needed[name])}"
            for name in sorted(found.keys() & needed.keys())
            if found[name] != needed[name]
        ),
    ]
    if len(lines) <= MOST_LINES:
        return tuple(lines)
    shown = MOST_LINES - 1
    return (*lines[:shown], f"… and {len(lines) - shown} more")


def _apart(found: str, needed: str) -> str:
    """Return both sides from shortly before the first character that differs."""
    equal = next(
        (n for n, (a, b) in enumerate(zip(found, needed, strict=False)) if a != b),
        min(len(found), len(needed)),
    )
    start = max(0, equal - _LEAD_CHARACTERS)
    return f"is {_excerpt(found, start)}, must be {_excerpt(needed, start)}"


def _excerpt(text: str, start: int) -> str:
    part = re.sub(r"\s+", " ", text[start : start + _SIDE_CHARACTERS]).strip()
    before = "…" if start else ""
    after = "…" if start + _SIDE_CHARACTERS < len(text) else ""
    return f"“{before}{part}{after}”"
