"""Structured values as they may be shown: secrets masked by name, texts by their form.

What a member is called says whether its value is anybody's business; texts are
redacted as error texts are.  What is too deep is not shown at all.
"""

import re
from typing import Final

from domain.members import is_list, is_object
from domain.text import cut, redact

MASK: Final = "[redacted]"
DEEPEST: Final = 16
_CHARACTERS: Final = 2_000

_SECRET: Final = re.compile(
    r"token|secret|passw(?:or)?d|authorization|signature|api.?key|hwid|device.?id"
    r"|subscription.?url|checkout.?url|raw.?body|payload|card|\bpan\b|cvv|iban|e.?mail"
    r"|phone",
    re.IGNORECASE,
)


def is_secret(name: str) -> bool:
    """Whether the value of a member of that name is nobody's business."""
    return _SECRET.search(name) is not None


def masked(name: str, value: object, depth: int = 0) -> object:
    """Return the value of a member of that name, fit to be shown."""
    if is_secret(name) or depth > DEEPEST:
        return MASK
    if isinstance(value, str):
        return cut(redact(value[: _CHARACTERS * 2]), _CHARACTERS)
    if is_list(value):
        return [masked("", each, depth + 1) for each in value]
    if is_object(value):
        return {
            redact(inner): masked(inner, each, depth + 1)
            for inner, each in value.items()
        }
    return value
