"""What a file is, by its own first bytes; a closed list."""

from collections.abc import Mapping
from typing import Final

PLAIN: Final = "text/plain"

_BEGINNINGS: Final[Mapping[bytes, str]] = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
    b"%PDF-": "application/pdf",
}
_WEBP: Final = "image/webp"

MEDIA: Final = tuple(sorted({*_BEGINNINGS.values(), _WEBP, PLAIN}))
"""All that is taken."""

_CONTROLS: Final = frozenset(range(32)) - {*b"\t\n\r\f"} | {127}


def media_type_of(content: bytes) -> str | None:
    """Return what it is; None: nothing that is taken.

    A page or a drawing with scripts is plain text here, and is nothing else to anybody.
    """
    for beginning, media_type in _BEGINNINGS.items():
        if content.startswith(beginning):
            return media_type
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return _WEBP
    try:
        content.decode()
    except UnicodeDecodeError:
        return None
    return PLAIN if content and not _CONTROLS & set(content) else None
