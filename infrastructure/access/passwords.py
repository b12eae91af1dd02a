"""Passwords as Argon2id hashes, a few at a time: each takes 64 MiB for a moment."""

import os
from contextlib import contextmanager
from functools import cached_property
from threading import BoundedSemaphore
from typing import TYPE_CHECKING, Final

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from argon2.low_level import Type

from application.access.signing_in import QUOTA_EXCEEDED
from application.errors import QuotaExceededError

if TYPE_CHECKING:
    from collections.abc import Generator

AT_ONCE: Final = 2
_PATIENCE_SECONDS: Final = 10.0

# The second choice of RFC 9106 (low memory), but for one lane: a hash is one thread's.
STRONG: Final = PasswordHasher(
    time_cost=3, memory_cost=64 * 1_024, parallelism=1, type=Type.ID
)


class Argon2Passwords:
    """See `Passwords`."""

    def __init__(
        self,
        hasher: PasswordHasher = STRONG,
        *,
        at_once: int = AT_ONCE,
        patience_seconds: float = _PATIENCE_SECONDS,
    ) -> None:
        """Take what hashes, and how many may at once."""
        self._hasher = hasher
        self._turns = BoundedSemaphore(at_once)
        self._patience_seconds = patience_seconds

    @cached_property
    def _nobodys(self) -> str:
        return self._hasher.hash(os.urandom(32))

    def hashed(self, password: str) -> str:
        """See `Passwords.hashed`."""
        with self.turn():
            return self._hasher.hash(_bytes(password))

    def matches(self, hashed: str | None, password: str) -> bool:
        """See `Passwords.matches`."""
        with self.turn():
            nobodys = self._nobodys  # made for whoever comes first, known or not
            try:
                self._hasher.verify(hashed or nobodys, _bytes(password))
            except (VerificationError, InvalidHashError):
                return False
        return hashed is not None

    @contextmanager
    def turn(self) -> "Generator[None]":
        """Hold one of the places in which hashes are made."""
        if not self._turns.acquire(timeout=self._patience_seconds):
            detail = "too many passwords wait to be checked"
            raise QuotaExceededError(QUOTA_EXCEEDED, detail, 1)
        try:
            yield
        finally:
            self._turns.release()


def _bytes(password: str) -> bytes:
    return password.encode("utf-8", "surrogatepass")
