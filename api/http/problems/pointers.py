"""Where in a body something is wrong: paths of parsers as JSON pointers (RFC 6901).

Members are called what whoever asks has called them: a path is redacted as texts are.
"""

import re
from typing import Final

from domain.text import storable

_STEP: Final = re.compile(r"\[(\d+)\]|\[\.\.\.\]|\.?([^.\[\]]+)")
_SHOWN: Final = 256
_NAME: Final = 64


def pointer(path: str) -> str:
    """Return `lines[0].cost`, or `$.lines[0].cost`, as `#/lines/0/cost`."""
    return "#" + "".join(f"/{_escaped(step)}" for step in steps(path))[:_SHOWN]


def steps(path: str) -> list[str]:
    """Return the members and indexes on the way; of an index nobody knows, `-`."""
    return [
        index or name or "-"
        for index, name in _STEP.findall(
            _veiled(path).removeprefix("$").removeprefix(".")
        )
    ]


def step(name: str) -> str:
    """Return the last step of a pointer: to a member of that name."""
    return f"/{_escaped(storable(name, _NAME))}"


def _veiled(path: str) -> str:
    # Without the brackets of the mask, which would be those of an index.
    return storable(path, _SHOWN).replace("[redacted]", "redacted")


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
