"""Text that may be stored: cleaned of what PostgreSQL refuses, redacted, cut.

Order matters: clean, then redact the whole text, then cut, so that a cut never
leaves the first half of a secret that the pattern no longer recognises.
"""

import re

ERROR_CHARACTERS = 500
"""Longest error text that is kept (style: `last_error` is cut to 500)."""

_MARK = "[redacted]"
# Linear-time patterns only: every quantifier runs over one character class.
_SECRETS = (
    re.compile(r"(?i)\b(?:bearer|basic)\s+[A-Za-z0-9._~+/=-]{6,}"),
    re.compile(r"\beyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]+)*"),
    re.compile(r"(?i)\b(?:vless|vmess|trojan|ss)://\S+"),
    re.compile(r"(?i)\b[a-z][a-z0-9+.-]*://[^\s/@:]+:[^\s/@]+@"),
    re.compile(
        r"(?i)\b(?:password|passwd|secret|token|api[_-]?key)\b[\"']?\s*[=:]\s*[\"']?[^\s\"',;}]+"
    ),
    # A card's number; not the end of an id, which may be digits alone.
    re.compile(
        r"(?P<kept>\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b)"
        r"|\b\d(?:[ -]?\d){12,18}\b"
    ),
)


def clean(text: str) -> str:
    """Return `text` without NUL and lone surrogates, each shown as U+FFFD."""
    if text.isascii() and "\x00" not in text:
        return text
    return (
        text.replace("\x00", "\ufffd")
        .encode("utf-16", "surrogatepass")
        .decode("utf-16", "replace")
    )


def redact(text: str) -> str:
    """Return `text` with tokens, links, credentials and card numbers masked."""
    for pattern in _SECRETS:
        text = pattern.sub(_masked, text)
    return text


def _masked(found: re.Match[str]) -> str:
    return found.groupdict().get("kept") or _MARK


def cut(text: str, characters: int = ERROR_CHARACTERS) -> str:
    """Return at most `characters` of `text`; a cut text ends with an ellipsis."""
    return text if len(text) <= characters else text[: characters - 1] + "…"


def storable(text: str, characters: int = ERROR_CHARACTERS) -> str:
    """Return `text` cleaned, redacted and cut: what may be written down."""
    # A bound before the patterns keeps a 1 MB error from costing seconds.
    return cut(redact(clean(text[: characters * 20])), characters)
