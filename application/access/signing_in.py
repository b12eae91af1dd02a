"""Sign in and out: by a name and a password, for a while.

An answer never tells whether somebody is called so: a wrong name, a wrong password and
somebody disabled are refused alike, after the same work.  Attempts are counted before
anything is looked at, for the name and for where they come from; when nobody can count
them, nobody signs in.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final, Protocol, override
from uuid import UUID

import msgspec

from application.access.people import Passwords
from application.access.tokens import MakeSecret
from application.errors import QuotaExceededError, UnauthorizedError
from domain.access.people import (
    LONGEST_TYPED,
    counted,
    csrf_of,
    name_of,
    session_secret,
    site_of,
    typed,
)
from domain.access.roles import Role
from domain.access.tokens import digest
from domain.event import Instant

IDLE: Final = timedelta(minutes=30)
"""A session that was not used for so long is over."""
LONGEST: Final = timedelta(hours=12)
"""A session is over after that, however often it is used."""
PER_ACCOUNT: Final = 10
PER_SITE: Final = 30
"""Attempts within a minute, of one name and from one address (requirements 10.4)."""
QUOTA_EXCEEDED: Final = "quota_exceeded"


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody who might sign in."""

    id: UUID
    tenant_id: str
    name: str
    role: Role
    password: str
    """Its hash."""
    is_disabled: bool

    @override
    def __repr__(self) -> str:
        """Return who it is, without the hash."""
        return f"Known({self.name!r})"


class SignedIn(msgspec.Struct, frozen=True, kw_only=True):
    """A session that has begun."""

    person: Known
    cookie: str
    csrf: str
    ends_at: Instant
    """However often it is used."""

    @override
    def __repr__(self) -> str:
        """Return whose it is, without what opens it."""
        return f"SignedIn({self.person!r})"


class Attempts(Protocol):
    """Counts attempts, for the whole installation."""

    def take(self, counted: bytes, most: int) -> int | None:
        """Count one; return the seconds to wait if there were too many, else None.

        Raises:
            DatabaseUnavailableError: nobody can count.
        """
        ...


class Sessions(Protocol):
    """Keeps sessions; that one begins and ends is on record."""

    def known(self, name: str) -> Known | None:
        """Return who is called so."""
        ...

    def begin(
        self, known: Known, digest: bytes, before: bytes | None, request_id: str | None
    ) -> Instant | None:
        """Begin a session in place of the one `before`; return when it ends at last.

        None: meanwhile they were disabled, or have another password or role.

        Raises:
            DatabaseUnavailableError: nothing is known to be done.
        """
        ...

    def end(self, digest: bytes, request_id: str | None) -> None:
        """End a session, if it is one.

        Raises:
            DatabaseUnavailableError: nothing is known to be done.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SignIn:
    """Begins sessions, and ends them."""

    sessions: Sessions
    attempts: Attempts
    passwords: Passwords
    make_secret: MakeSecret

    def __call__(
        self,
        name: str,
        password: str,
        *,
        address: str,
        cookie: str = "",
        request_id: str | None = None,
    ) -> SignedIn:
        """Return a new session; the one of `cookie`, if that is one, is over.

        Raises:
            QuotaExceededError: too many attempts, of this name or from this address.
            UnauthorizedError: there is nobody of that name and password.
            DatabaseUnavailableError: nobody can tell.
        """
        called = name_of(name)
        self._count("site", site_of(address), PER_SITE)
        self._count("account", called or name.strip().lower(), PER_ACCOUNT)
        known = None if called is None else self.sessions.known(called)
        # As much work for nobody as for somebody.
        is_right = self.passwords.matches(
            None if known is None else known.password,
            typed(password[:LONGEST_TYPED]),
        )
        if known is None or known.is_disabled or not is_right:
            raise UnauthorizedError
        secret = self.make_secret()
        before = session_secret(cookie)
        ends_at = self.sessions.begin(
            known,
            digest(secret),
            None if before is None else digest(before),
            request_id,
        )
        if ends_at is None:
            raise UnauthorizedError
        return SignedIn(
            person=known, cookie=secret.hex(), csrf=csrf_of(secret), ends_at=ends_at
        )

    def out(self, cookie: str, request_id: str | None = None) -> None:
        """End the session of that cookie; none is over already.

        Raises:
            DatabaseUnavailableError: nothing is known to be done.
        """
        secret = session_secret(cookie)
        if secret is not None:
            self.sessions.end(digest(secret), request_id)

    def _count(self, kind: str, key: str, most: int) -> None:
        wait = self.attempts.take(counted(kind, key), most)
        if wait is not None:
            detail = "too many attempts to sign in"
            raise QuotaExceededError(QUOTA_EXCEEDED, detail, wait)
