"""Callbacks signed as Standard Webhooks says: `id.timestamp.body` under HMAC-SHA256."""

import base64
import binascii
import hashlib
import hmac
from typing import Final

PREFIX: Final = "whsec_"


class SecretError(ValueError):
    """The secret is none that callbacks can be signed with."""


def secret_bytes(secret: str) -> bytes:
    """Return the key that a secret `whsec_<base64>` stands for.

    Raises:
        SecretError: it has another form, or fewer than 24 or more than 64 bytes.
    """
    try:
        key = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not secret.startswith(PREFIX) or not 24 <= len(key) <= 64:  # noqa: PLR2004
        msg = f"a callback secret is {PREFIX} and 24 to 64 bytes in base64"
        raise SecretError(msg)
    return key


def signed_headers(
    key: bytes, event: str, at_seconds: int, body: str
) -> dict[str, str]:
    """Return the headers that an attempt at `at_seconds` to tell `event` carries."""
    message = f"{event}.{at_seconds}.{body}".encode()
    digest = hmac.new(key, message, hashlib.sha256).digest()
    return {
        "content-type": "application/json",
        "webhook-id": event,
        "webhook-timestamp": str(at_seconds),
        "webhook-signature": f"v1,{base64.b64encode(digest).decode()}",
    }
