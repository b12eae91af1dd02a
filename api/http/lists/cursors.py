"""Cursors: a place in a list, signed, and bound to what was asked for there.

    base64url( msgpack([place, is_back, position, scope's hash]) ‖ HMAC-SHA-256 [:8] )

Whoever changes the filter, the order, the list or the tenant holds a cursor of another
list; whoever makes one up misses the signature.  Both are told at once, never guessed.
"""

import binascii
import hashlib
import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Final

import msgspec

from api.http.problems.problem import ProblemError, misfit

INVALID_CURSOR: Final = "invalid_cursor"

_MAC_BYTES: Final = 8
_SCOPE_BYTES: Final = 8
_MOST_CHARACTERS: Final = 1_024
_FORGED: Final = "it is not one that a page of this list has told"
_MOVED: Final = "it belongs to another filter, order or list; begin without a cursor"


class Scope(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """What a cursor belongs to."""

    of: str
    """The list."""
    tenant_id: str
    filter: str
    """Its one text; see `Vocabulary.canonical`."""
    sort: str

    def hashed(self) -> bytes:
        """Return what a cursor remembers of it."""
        return hashlib.sha256(msgspec.msgpack.encode(self)).digest()[:_SCOPE_BYTES]


class Cursor(msgspec.Struct, frozen=True, kw_only=True):
    """Where a page begins."""

    place: str
    """An edge of the list, as it tells itself."""
    is_back: bool
    """Whether the page ends in front of the place."""
    position: int
    """Of the page that told it: no later page shows an earlier moment."""


class _Sealed(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    place: str
    is_back: bool
    position: int
    scope: bytes


_sealed = msgspec.msgpack.Decoder(_Sealed)


def seal(cursor: Cursor, scope: Scope, secret: bytes) -> str:
    """Return a cursor as text."""
    sealed = _Sealed(cursor.place, cursor.is_back, cursor.position, scope.hashed())
    body = msgspec.msgpack.encode(sealed)
    return urlsafe_b64encode(body + _mac(body, secret)).rstrip(b"=").decode()


def unseal(text: str, scope: Scope, secret: bytes) -> Cursor:
    """Return the cursor that a text is.

    Raises:
        ProblemError: it was not told by us, or belongs to another list.
    """
    raw = _raw(text)
    body, mac = raw[:-_MAC_BYTES], raw[-_MAC_BYTES:]
    if not hmac.compare_digest(_mac(body, secret), mac):
        raise _invalid(_FORGED)
    try:
        told = _sealed.decode(body)
    except msgspec.DecodeError as error:  # of another version of us
        raise _invalid(_FORGED) from error
    if told.scope != scope.hashed():
        raise _invalid(_MOVED)
    return Cursor(place=told.place, is_back=told.is_back, position=told.position)


def _raw(text: str) -> bytes:
    if len(text) > _MOST_CHARACTERS or not text.isascii():
        raise _invalid(_FORGED)
    try:
        return urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (binascii.Error, ValueError) as error:
        raise _invalid(_FORGED) from error


def _mac(body: bytes, secret: bytes) -> bytes:
    return hmac.digest(secret, body, "sha256")[:_MAC_BYTES]


def _invalid(rule: str) -> ProblemError:
    return misfit("cursor", rule, INVALID_CURSOR)
