"""The keys that seal secrets: one seals, all of them open.

A sealed secret is 12 random bytes, the ciphertext and its tag of 16 bytes.  Tenant,
table, column and row are authenticated beside it, each one with its length before it,
so that a ciphertext that is moved anywhere else does not open there.
"""

import base64
import os
import re
from collections.abc import Mapping
from typing import Final, NoReturn, override

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from application.providers.sealing import Place, Sealed, Unopened

_KEY_BYTES: Final = 32
_NONCE_BYTES: Final = 12
_TAG_BYTES: Final = 16
_ID: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,31}")
"""Shorter than any key is when it is written: a key in the place of an id is none."""
_PURPOSE: Final = b"counterfoil.sealed.1"


class MalformedKeysError(ValueError):
    """What should be keys is none; the message holds nothing of it."""


class KeyRing:
    """Keys by their ids, in the order in which they were given; the first one seals."""

    __slots__ = ("_ciphers", "_ids")

    def __init__(self, keys: Mapping[str, bytes]) -> None:
        """Take at least one key of 32 bytes."""
        self._ids = tuple(keys)
        self._ciphers = {key: AESGCM(secret) for key, secret in keys.items()}

    @override
    def __repr__(self) -> str:
        """Return the ids alone."""
        return f"KeyRing({', '.join(self._ids)})"

    @override
    def __reduce__(self) -> NoReturn:
        """Refuse: whatever is pickled is written somewhere.

        Raises:
            TypeError: always.
        """
        msg = "keys are not pickled"
        raise TypeError(msg)

    @property
    def active(self) -> str:
        """See `Seals.active`."""
        return self._ids[0]

    @property
    def ids(self) -> tuple[str, ...]:
        """See `Seals.ids`."""
        return self._ids

    def seal(self, secret: bytes, place: Place) -> Sealed:
        """See `Seals.seal`."""
        nonce = os.urandom(_NONCE_BYTES)
        cipher = self._ciphers[self.active]
        content = cipher.encrypt(nonce, secret, _beside(place))
        return Sealed(self.active, nonce + content)

    def open(self, sealed: Sealed, place: Place) -> bytes | Unopened:
        """See `Seals.open`."""
        cipher = self._ciphers.get(sealed.key)
        if cipher is None:
            return Unopened("key_missing", sealed.key)
        nonce = sealed.content[:_NONCE_BYTES]
        content = sealed.content[_NONCE_BYTES:]
        try:
            if len(content) >= _TAG_BYTES:
                return cipher.decrypt(nonce, content, _beside(place))
        except InvalidTag:
            pass
        return Unopened("does_not_open", sealed.key)


def _beside(place: Place) -> bytes:
    """Return what is authenticated: no two places are written alike."""
    parts = (place.tenant, place.table, place.column, place.row)
    told = [part.encode() for part in parts]
    return _PURPOSE + b"".join(len(each).to_bytes(4) + each for each in told)


def key_ring_of(text: str) -> KeyRing:
    """Return the keys that are written `ID:KEY,ID:KEY`; the first one seals.

    Raises:
        MalformedKeysError: it says which entry is wrong, and repeats none of it.
    """
    keys: dict[str, bytes] = {}
    for number, entry in enumerate(text.split(","), start=1):
        key_id, secret = _entry(number, entry.strip())
        if key_id in keys:
            msg = f"entry {number} has the id of an earlier one"
            raise MalformedKeysError(msg)
        if secret in keys.values():
            msg = f"entry {number} is the key of an earlier one"
            raise MalformedKeysError(msg)
        keys[key_id] = secret
    return KeyRing(keys)


def _entry(number: int, entry: str) -> tuple[str, bytes]:
    key_id, colon, written = entry.partition(":")
    if not colon or _ID.fullmatch(key_id) is None:
        msg = (
            f"entry {number} does not begin with an id of 1 to 32 of a-z, 0-9, dot, "
            "- and _, and a colon"
        )
        raise MalformedKeysError(msg)
    try:
        secret = base64.b64decode(written, validate=True)
    except ValueError:
        secret = b""
    if len(secret) != _KEY_BYTES:
        msg = f"the key of entry {number} is not the base64 of {_KEY_BYTES} bytes"
        raise MalformedKeysError(msg)
    if len(set(secret)) == 1:
        msg = f"the key of entry {number} is one byte {_KEY_BYTES} times: no secret"
        raise MalformedKeysError(msg)
    return key_id, secret


def new_key(key_id: str) -> str:
    """Return a new key as `key_ring_of` reads it.

    Raises:
        MalformedKeysError: the id is none.
    """
    secret = base64.b64encode(os.urandom(_KEY_BYTES)).decode()
    key_ring_of(f"{key_id}:{secret}")
    return f"{key_id}:{secret}"
