"""The key that a caller gives a request: read from its header, in either form."""

import re
from typing import Final

from domain.errors import InvalidRequestError

HEADER: Final = "Idempotency-Key"
SHORTEST: Final = 8
LONGEST: Final = 128

_RULE: Final = (
    f"{SHORTEST} to {LONGEST} visible ASCII characters, bare or as a string in double "
    "quotes"
)
# A string of RFC 9651: a quotation mark and a backslash are written with a backslash
# before them, and nothing else is.
_STRUCTURED: Final = re.compile(r'"((?:[ !#-\[\]-~]|\\["\\])*)"')
_ESCAPED: Final = re.compile(r'\\(["\\])')
_VISIBLE: Final = re.compile(rf"[!-~]{{{SHORTEST},{LONGEST}}}")


def read_key(told: str) -> str:
    """Return the key that a header's value holds: `"abc…"` and `abc…` are one key.

    Raises:
        InvalidRequestError: it is not 8 to 128 visible ASCII characters.
    """
    value = told.strip(" \t")
    if value.startswith('"'):
        string = _STRUCTURED.fullmatch(value)
        value = "" if string is None else _ESCAPED.sub(r"\1", string[1])
    if _VISIBLE.fullmatch(value) is None:
        code = "invalid_idempotency_key"
        raise InvalidRequestError(code, HEADER, _RULE)
    return value
