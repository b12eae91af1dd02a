"""What seals secrets so that they can be stored, and opens them again."""

from collections.abc import Mapping
from typing import Protocol

import msgspec


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """The one field of the database in which a secret opens."""

    tenant: str
    table: str
    column: str
    row: str
    """The row's key inside its tenant."""


class Sealed(msgspec.Struct, frozen=True):
    """A secret that can be stored: it opens in its place alone."""

    key: str
    """The id of the key that seals it."""
    content: bytes
    """Nonce, ciphertext and tag."""


class Unopened(msgspec.Struct, frozen=True):
    """Why a secret does not open; `code` is `key_missing` or `does_not_open`."""

    code: str
    key: str
    """The id of the key that it names."""


class Seals(Protocol):
    """Seals under one key, the active one, and opens under all that it has."""

    @property
    def active(self) -> str:
        """The id of the key that seals."""
        ...

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of all keys, the active one first."""
        ...

    def seal(self, secret: bytes, place: Place) -> Sealed:
        """Return the secret, sealed by the active key for that place."""
        ...

    def open(self, sealed: Sealed, place: Place) -> bytes | Unopened:
        """Return the secret, or why it does not open there."""
        ...


class Taken(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How many secrets are sealed by the active key now, and how many do not open."""

    n_taken: int
    n_unreadable: int


class SealedBodies(Protocol):
    """The bodies of callbacks, which are kept sealed for a while."""

    def counts(self) -> Mapping[str, int]:
        """Return how many each key seals, by its id.

        Raises:
            DatabaseUnavailableError: the database is away.
        """
        ...

    def take_over(self, seals: Seals) -> Taken:
        """Return what became of those that the active key did not seal.

        Raises:
            DatabaseUnavailableError: what is done so far stays done; again is safe.
        """
        ...
