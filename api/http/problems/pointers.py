"""Where in a body something is wrong: paths of parsers as JSON pointers (RFC 6901)."""

import re
from typing import Final

_STEP: Final = re.compile(r"\[(\d+)\]|\[\.\.\.\]|\.?([^.\[\]]+)")
_SHOWN: Final = 256


def pointer(path: str) -> str:
    """Return `lines[0].cost`, or `$.lines[0].cost`, as `#/lines/0/cost`."""
    steps = [
        index or name or "-"
        for index, name in _STEP.findall(path.removeprefix("$").removeprefix("."))
    ]
    return "#" + "".join(f"/{_escaped(step)}" for step in steps)[:_SHOWN]


def _escaped(step: str) -> str:
    return step.replace("~", "~0").replace("/", "~1")
