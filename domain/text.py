"""Text that may be stored: cleaned of what PostgreSQL refuses, redacted, cut.

storable   what machines say, and reasons: no secret, no link, no address of a person
stated     what somebody names or shows: ids and links stay, but for secrets in them

Order matters: clean, then redact the whole text, then cut, so that a cut never
leaves the first half of a secret that the pattern no longer recognises.
"""

import re

ERROR_CHARACTERS = 500
"""Longest error text that is kept (style: `last_error` is cut to 500)."""

_MARK = "[redacted]"
# Linear-time patterns only: every quantifier runs over one character class, and is
# bounded where many places may begin it.
_SECRETS = (
    re.compile(r"(?i)\b(?:bearer|basic)\s+[A-Za-z0-9._~+/=-]{6,}"),
    re.compile(r"\beyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]+)*"),
    re.compile(r"(?i)\b(?:vless|vmess|trojan|ss)://\S+"),
    re.compile(r"(?i)\b[a-z][a-z0-9+.-]{0,30}://[^\s/@:]{1,256}:[^\s/@]{1,256}@"),
    re.compile(
        r"(?i)\b(?:password|passwd|secret|token|api[ _-]?key)\b"
        r"[\"']?\s*[=:]\s*[\"']?[^\s\"',;}]+"
    ),
    # The same without a mark, and a value that is neither a word nor an id of ours.
    re.compile(
        r"(?i)\b(?:password|passwd|secret|token|api[ _-]?key)\s+"
        r"(?!(?:[a-z]{2,5}_)?[0-9a-f]{8}-)(?=[^\s\"',;}]{0,256}\d)[^\s\"',;}]{8,}"
    ),
    re.compile(r"(?i)\bauthorization\b[\"']?\s*[=:]\s*[\"']?[^\s\"',;}]{8,}"),
    re.compile(
        r"(?i)\b(?:hwid|device[ _-]?id|charge[ _-]?id|invoice[ _-]?payload)\b"
        r"[\"']?\s*[=:]\s*[\"']?[^\s\"',;}]{6,}"
    ),
    # A bot's token.
    re.compile(r"\b\d{6,12}:[A-Za-z0-9_-]{30,}"),
    # A card's number; not the end of an id, which may be digits alone, nor 2^63 - 1,
    # the bound that refusals tell.
    re.compile(
        r"(?P<kept>(?<![0-9a-zA-Z])[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b"
        r"|\b9223372036854775807\b)"
        r"|\b\d(?:[ -]?\d){12,18}\b"
    ),
)

_PRIVATE = (
    # Whole: the secret of a link to a subscription is its path.
    re.compile(r"(?i)\b[a-z][a-z0-9+.-]{0,30}://[^\s\"'<>]+"),
    re.compile(r"[A-Za-z0-9._%+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.)+[A-Za-z0-9-]{2,63}"),
    re.compile(r"\+\d(?:[ ()-]{0,2}\d){8,14}\b"),
)


def is_storable(text: str) -> bool:
    """Whether PostgreSQL knows such a text at all: no NUL, no half of a character."""
    return clean(text) == text


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
    """Return `text` with tokens, credentials and card numbers masked."""
    for pattern in _SECRETS:
        text = pattern.sub(_masked, text)
    return text


def veiled(text: str) -> str:
    """Return `text` redacted, and without links, e-mail addresses and phone numbers."""
    for pattern in _PRIVATE:
        text = pattern.sub(_MARK, text)
    return redact(text)


def unquoted(told: str) -> str:
    """Return what a decoder says without the value that it did not take."""
    return _QUOTED.sub(r"\1", told)


_QUOTED = re.compile(r"\b(Invalid (?:enum )?value) '.*'(?=$| - at `)", re.DOTALL)


def _masked(found: re.Match[str]) -> str:
    return found.groupdict().get("kept") or _MARK


def cut(text: str, characters: int = ERROR_CHARACTERS) -> str:
    """Return at most `characters` of `text`; a cut text ends with an ellipsis."""
    return text if len(text) <= characters else text[: characters - 1] + "…"


def storable(text: str, characters: int = ERROR_CHARACTERS) -> str:
    """Return `text` cleaned, redacted and cut: what may be written down."""
    # A bound before the patterns keeps a 1 MB error from costing seconds.
    return cut(veiled(clean(text[: characters * 20])), characters)


def stated(text: str, characters: int) -> str:
    """Return what somebody names or shows, cleaned, cut and without secrets."""
    return cut(redact(clean(text[: characters * 20])), characters)
