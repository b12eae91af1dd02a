"""Whether a document shows what really comes out, whatever changes from run to run.

Ids, user names and processes are bound: the document's own stand for the real ones,
in its later commands too.  Instants, distances in time and the width of columns do not
count.  `…` stands for anything, a line of `…` alone for any lines.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_INSTANT = r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d+)?Z"
_PARTS = re.compile(
    rf"""
    (?P<id>{_UUID} | counterfoil_[0-9a-f]{{16}})
  | (?P<worker>shop-1:\d+)
  | (?P<instant>{_INSTANT})
  | (?P<short>…[0-9a-f]{{6}}\b)
  | (?P<any>…)
  | (?P<distance>\b\d+\ (?:s|min|h|days)\b)
  | (?P<blank>\s+)
    """,
    re.VERBOSE,
)
_REAL = {
    "id": rf"({_UUID}|counterfoil_[0-9a-f]{{16}})",
    "short": r"(…[0-9a-f]{6}\b)",
    "worker": r"([\w.-]+:\d+)",
    "instant": _INSTANT,
    "any": ".*",
    "distance": r"\d+ (?:s|min|h|days)",
    "blank": r"\s+",
}
_BOUND = frozenset({"id", "short", "worker"})


@dataclass
class Names:
    """What the document calls something, and what it is called in this run."""

    real: dict[str, str] = field(default_factory=dict[str, str])

    def in_command(self, text: str) -> str:
        """Return a command of the document with this run's names."""
        for told, real in self.real.items():
            text = text.replace(told, real)
            if told.startswith("shop-1:"):
                pid = told.partition(":")[2]
                text = re.sub(rf"\b{pid}\b", real.partition(":")[2], text)
        return text

    def match(self, told: Sequence[str], output: str, *, is_all: bool = True) -> bool:
        """Whether the output is as told; binds the names that it met."""
        lines = [line.strip() for line in output.splitlines() if line.strip()]
        wanted = [line.strip() for line in told if line.strip()]
        bound = dict(self.real)
        if not self._match(wanted, lines, bound, is_all=is_all):
            return False
        self.real = bound
        return True

    def _match(
        self, told: list[str], lines: list[str], bound: dict[str, str], *, is_all: bool
    ) -> bool:
        if not told:
            return not (is_all and lines)
        if told[0] == "…":
            rests = (lines[at:] for at in range(len(lines) + 1))
            return any(self._match(told[1:], it, bound, is_all=is_all) for it in rests)
        if not lines:
            return False
        met = _bind(told[0], lines[0], bound)
        if met is None or not self._match(told[1:], lines[1:], met, is_all=is_all):
            return False
        bound |= met
        return True


def _bind(told: str, line: str, bound: dict[str, str]) -> dict[str, str] | None:
    """Return the names after reading one line as the document tells it, or None."""
    pattern, names, at = "", list[str](), 0
    for part in _PARTS.finditer(told):
        pattern += re.escape(told[at : part.start()])
        at = part.end()
        kind = part.lastgroup or ""
        if kind not in _BOUND:
            pattern += _REAL[kind]
        elif part[0] in bound:
            pattern += re.escape(bound[part[0]])
        elif part[0] in names:
            pattern += rf"\{names.index(part[0]) + 1}"
        else:
            names.append(part[0])
            pattern += _REAL[kind]
    found = re.fullmatch(pattern + re.escape(told[at:]), line)
    if found is None:
        return None
    return bound | dict(zip(names, found.groups(), strict=True))
