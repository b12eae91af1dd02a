"""What a provider is reached with: read from what a person gives, never shown.

No refusal repeats anything of what was given: whoever mistakes one thing for another
would find a secret in the error.
"""

import re
from base64 import b64decode
from typing import Final, override
from urllib.parse import urlsplit

import msgspec

from domain.members import invalid

LONGEST: Final = 16_384
"""Bytes of a credential as it is given."""

_URL_CHARACTERS: Final = 500
_TOKEN: Final = re.compile(r"[!-~]{1,4096}")
"""What a header of HTTP may carry, without blanks."""
_WEBHOOK_PREFIX: Final = "whsec_"
_WEBHOOK_BYTES: Final = range(24, 65)
_CURRENCY: Final = re.compile(r"[A-Z]{3}")
_KNOWN: Final = frozenset({"baseUrl", "token", "currency", "webhookSecret"})
_FORM: Final = (
    'a JSON object like {"baseUrl": "https://HOST", "token": "…"}, and maybe with '
    '"currency" and "webhookSecret"'
)


class Credential(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Where a provider is, and what it knows us by."""

    base_url: str
    token: str
    currency: str | None = None
    """Of its costs and its balance, if it has one alone."""
    webhook_secret: str | None = None
    """What its callbacks are signed with; None: it sends none."""

    @override
    def __repr__(self) -> str:
        """Return where it is for, without any secret."""
        return f"Credential(host={self.host!r})"

    @property
    def host(self) -> str:
        """The host and port of its address."""
        return urlsplit(self.base_url).netloc

    def written(self) -> bytes:
        """Return what is sealed, the same bytes for the same credential."""
        return msgspec.json.encode(self)


def credential_of(given: bytes) -> Credential:
    """Return the credential that a person has given as JSON.

    Raises:
        InvalidRequestError: it is none; nothing of it is repeated.
    """
    members = _object(given)
    if not members.keys() <= _KNOWN:
        # Not even its name: it may be a secret that has slipped.
        invalid("", f"has a member that is none of {', '.join(sorted(_KNOWN))}")
    return Credential(
        base_url=_base_url(members.get("baseUrl")),
        token=token_of(members.get("token")),
        currency=_currency(members.get("currency")),
        webhook_secret=_webhook_secret(members.get("webhookSecret")),
    )


def written(
    *,
    base_url: str | None,
    token: str | None,
    currency: str | None,
    webhook_secret: str | None,
) -> bytes:
    """Return what a person has answered, as `credential_of` reads it."""
    return msgspec.json.encode(
        {
            "baseUrl": base_url,
            "token": token,
            "currency": currency,
            "webhookSecret": webhook_secret,
        }
    )


def stored_credential(opened: bytes) -> Credential | None:
    """Return what was sealed; None: another version has sealed something else."""
    try:
        return msgspec.json.decode(opened, type=Credential)
    except msgspec.MsgspecError:
        return None


def token_of(given: object) -> str:
    """Return a token.

    Raises:
        InvalidRequestError: it cannot be one.
    """
    if not isinstance(given, str) or _TOKEN.fullmatch(given) is None:
        invalid("token", "1 to 4,096 visible ASCII characters, without blanks")
    return given


def _object(given: bytes) -> dict[str, object]:
    if len(given) > LONGEST:
        invalid("", f"at most {LONGEST} bytes")
    try:
        value = msgspec.json.decode(given, type=dict[str, object])
    except (msgspec.MsgspecError, RecursionError):
        value = None
    if value is None:
        invalid("", _FORM)
    return value


def _base_url(given: object) -> str:
    rule = (
        f"https://HOST[:PORT][/PATH] of at most {_URL_CHARACTERS} characters, without "
        "user, query and fragment"
    )
    if not isinstance(given, str) or len(given) > _URL_CHARACTERS:
        invalid("baseUrl", rule)
    if not (given.isascii() and given.isprintable() and _is_address(given)):
        invalid("baseUrl", rule)
    return given.rstrip("/")


def _is_address(given: str) -> bool:
    try:
        url = urlsplit(given)
        is_whole = bool(url.hostname) and url.port != 0
    except ValueError:
        return False
    return (
        is_whole
        and url.scheme in {"http", "https"}
        and "@" not in url.netloc
        and not any(mark in given for mark in " ?#\\")
    )


def _currency(given: object) -> str | None:
    if given is None:
        return None
    if not isinstance(given, str) or _CURRENCY.fullmatch(given) is None:
        invalid("currency", "three capital letters, like EUR")
    return given


def _webhook_secret(given: object) -> str | None:
    if given is None:
        return None
    if not isinstance(given, str) or not _signs(given):
        invalid("webhookSecret", "whsec_ and the base64 of 24 to 64 bytes")
    return given


def _signs(secret: str) -> bool:
    """Whether it is a secret of Standard Webhooks."""
    if not secret.startswith(_WEBHOOK_PREFIX):
        return False
    try:
        key = b64decode(secret.removeprefix(_WEBHOOK_PREFIX), validate=True)
    except ValueError:
        return False
    return len(key) in _WEBHOOK_BYTES
