"""Who has signed a callback, and when: Standard Webhooks, HMAC-SHA256."""

import base64
import hashlib
import hmac
import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Final

from domain.event import Instant

TOLERANCE: Final = timedelta(minutes=5)
"""How far the instant of an attempt may be from ours, either way."""

MALFORMED_HEADERS: Final = "malformed_headers"
SECRET_UNUSABLE: Final = "secret_unusable"  # noqa: S105 - a code
SIGNATURE_INVALID: Final = "signature_invalid"
TIMESTAMP_OUTSIDE: Final = "timestamp_outside"

_PREFIX: Final = "whsec_"
_FEWEST_BYTES: Final = 24
_MOST_BYTES: Final = 64
_EVENT_ID: Final = re.compile(r"[!-~]{1,255}")
_TIMESTAMP: Final = re.compile(r"[0-9]{1,11}")
_VERSION: Final = "v1,"


def event_id_of(headers: Mapping[str, str]) -> str | None:
    """Return what the provider calls the event; None: nothing that can be a name."""
    event_id = _lowered(headers).get("webhook-id", "")
    return event_id if _EVENT_ID.fullmatch(event_id) else None


def problem_of(
    headers: Mapping[str, str], body: bytes, secret: str, now: Instant
) -> str | None:
    """Return the code of what is wrong with a signature; None: it is the provider's."""
    given = _lowered(headers)
    event_id = event_id_of(headers)
    timestamp = given.get("webhook-timestamp", "")
    if event_id is None or _TIMESTAMP.fullmatch(timestamp) is None:
        return MALFORMED_HEADERS
    key = key_of(secret)
    if key is None:
        return SECRET_UNUSABLE
    signed = f"{event_id}.{timestamp}.".encode() + body
    digest = hmac.new(key, signed, hashlib.sha256).digest()
    told = f"{_VERSION}{base64.b64encode(digest).decode()}".encode()
    # Two of them while the provider changes its secret; every one is compared.
    signatures = given.get("webhook-signature", "").split(" ")
    matches = [hmac.compare_digest(each.encode(), told) for each in signatures]
    if not any(matches):
        return SIGNATURE_INVALID
    if abs(now.timestamp() - int(timestamp)) > TOLERANCE.total_seconds():
        return TIMESTAMP_OUTSIDE
    return None


def key_of(secret: str) -> bytes | None:
    """Return the bytes of a secret `whsec_<base64 of 24 to 64 bytes>`, or None."""
    if not secret.startswith(_PREFIX):
        return None
    try:
        key = base64.b64decode(secret.removeprefix(_PREFIX), validate=True)
    except ValueError:
        return None
    return key if _FEWEST_BYTES <= len(key) <= _MOST_BYTES else None


def _lowered(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value.strip() for name, value in headers.items()}
