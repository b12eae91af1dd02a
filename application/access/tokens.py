"""Make, rotate and revoke the tokens of programs, with a reason, on record.

Nobody gives a token more than they may do themselves.  Its text is told once, to
whoever made it; what is kept tells nobody what it was.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol, override
from uuid import UUID

import msgspec

from application.access.record import TOKEN, OnRecord
from application.errors import NotFoundError
from application.operators.instruction import Instruction
from application.unit import Ids
from domain.access.audience import Audience
from domain.access.permissions import Permission
from domain.access.tokens import (
    TokenText,
    check_days,
    check_name,
    check_overlap,
    check_places,
    check_scopes,
    digest,
)
from domain.event import Instant
from domain.members import invalid

type Check = Callable[["Token"], None]
"""Looks at a locked token, and may refuse by raising."""

type MakeSecret = Callable[[], bytes]
"""Returns 32 random bytes."""

DEFAULT_DAYS: Final = 90
DEFAULT_OVERLAP_SECONDS: Final = 86_400
_SURFACES: Final = (Audience.SHOP, Audience.ADMIN)


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """A token as it is asked for."""

    tenant_id: str
    name: str
    surface: str
    scopes: tuple[str, ...]
    expires_in_days: int = DEFAULT_DAYS
    allowed_from: tuple[str, ...] = ()


class NewToken(msgspec.Struct, frozen=True, kw_only=True):
    """A token as it is kept first."""

    id: UUID
    tenant_id: str
    name: str
    surface: Audience
    scopes: tuple[Permission, ...]
    allowed_from: tuple[str, ...]
    days: int
    digest: bytes


class Renewal(msgspec.Struct, frozen=True, kw_only=True):
    """Another secret of a token that there is."""

    digest: bytes
    days: int
    overlap_seconds: int
    """For how long the secret before is good beside it."""


class Token(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A token as it is told: nothing of its secret."""

    id: UUID
    tenant_id: str
    name: str
    surface: str
    scopes: tuple[str, ...]
    allowed_from: tuple[str, ...]
    state: str
    """`live`, `expired` or `revoked`."""
    created_by: str
    created_at: Instant
    expires_at: Instant
    rotated_at: Instant
    """When its secret was given."""
    previous_until: Instant | None
    """Until when the secret before is good as well; None: there is none."""
    last_used_at: Instant | None
    """To the minute."""
    revoked_at: Instant | None


class Kept(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A token after something was done to it."""

    token: Token
    position: int
    """A reader at this position of the log sees it."""


class Made(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A token with its text, which is told this once."""

    token: Token
    text: str
    position: int

    @override
    def __repr__(self) -> str:
        """Return it without its text."""
        return f"Made(token={self.token!r}, position={self.position})"


class TokenBook(Protocol):
    """Keeps tokens; each change is committed with its fact, or not at all."""

    def add(self, new: NewToken, instruction: Instruction) -> Kept:
        """Keep a new token.

        Raises:
            StateConflictError: a live token of the tenant has the name.
            DatabaseUnavailableError: nothing is known to be done.
        """
        ...

    def renew(
        self, key: str, renewal: Renewal, check: Check, instruction: Instruction
    ) -> Kept:
        """Give the token of that id or name another secret, if `check` lets it.

        Raises:
            ApplicationError: what `check` raised.
            NotFoundError: there is none that they see.
            StateConflictError: it is revoked.
            DatabaseUnavailableError: nothing is known to be done.
        """
        ...

    def revoke(self, key: str, instruction: Instruction) -> Kept:
        """Let the token of that id or name open nothing any more.

        Raises:
            NotFoundError: there is none that they see.
            DatabaseUnavailableError: nothing is known to be done.
        """
        ...

    def all(self, tenant_id: str | None) -> tuple[Token, ...]:
        """Return the tokens of a tenant, or of all, by name and age."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """What may be done to tokens."""

    book: TokenBook
    record: OnRecord
    ids: Ids
    make_secret: MakeSecret
    environment: str
    """Of this installation; a token of another one opens nothing here."""

    def create(self, wanted: Wanted, instruction: Instruction) -> Made:
        """Return a new token, with its text.

        Raises:
            InvalidRequestError: it cannot be meant.
            ForbiddenError: they may not, or may not do themselves what it shall.
            NotFoundError: the tenant is not theirs.
            StateConflictError: a live token of the tenant has the name.
            DatabaseUnavailableError: nothing is known to be done.
        """
        with self.record.refusing("create_token", TOKEN, wanted.name, instruction):
            instruction.require(Permission.TOKENS_WRITE)
            new, text = self._new(wanted)
            for permission in new.scopes:
                instruction.require(permission)
            if not instruction.sees(wanted.tenant_id):
                what = "tenant"
                raise NotFoundError(what, wanted.tenant_id)
            kept = self.book.add(new, instruction)
        return Made(token=kept.token, text=text, position=kept.position)

    def rotate(
        self,
        key: str,
        instruction: Instruction,
        *,
        days: int = DEFAULT_DAYS,
        overlap_seconds: int = DEFAULT_OVERLAP_SECONDS,
    ) -> Made:
        """Return the token of that id or name with a new secret.

        The one before stays good for `overlap_seconds`, if the token does; one that
        was before that is good no more.

        Raises:
            InvalidRequestError: days or overlap are out of range.
            ForbiddenError: they may not, or may not do themselves what it may.
            NotFoundError: there is none that they see.
            StateConflictError: it is revoked.
            DatabaseUnavailableError: nothing is known to be done.
        """
        secret = self.make_secret()
        renewal = Renewal(
            digest=digest(secret),
            days=check_days(days),
            overlap_seconds=check_overlap(overlap_seconds),
        )
        with self.record.refusing("rotate_token", TOKEN, key, instruction):
            instruction.require(Permission.TOKENS_WRITE)
            kept = self.book.renew(key, renewal, _held_by(instruction), instruction)
        text = self._text(kept.token.id, secret)
        return Made(token=kept.token, text=text, position=kept.position)

    def revoke(self, key: str, instruction: Instruction) -> Kept:
        """Return the token of that id or name, which opens nothing any more.

        Raises:
            ForbiddenError: they may not.
            NotFoundError: there is none that they see.
            DatabaseUnavailableError: nothing is known to be done.
        """
        with self.record.refusing("revoke_token", TOKEN, key, instruction):
            instruction.require(Permission.TOKENS_WRITE)
            return self.book.revoke(key, instruction)

    def all(self, tenant_id: str | None) -> tuple[Token, ...]:
        """Return the tokens of a tenant, or of all, by name and age."""
        return self.book.all(tenant_id)

    def _new(self, wanted: Wanted) -> tuple[NewToken, str]:
        if wanted.surface not in _SURFACES:
            invalid("surface", "shop for /v1, or admin for /v1/admin")
        secret = self.make_secret()
        new = NewToken(
            id=self.ids(),
            tenant_id=wanted.tenant_id,
            name=check_name(wanted.name),
            surface=Audience(wanted.surface),
            scopes=tuple(sorted(check_scopes(wanted.scopes))),
            allowed_from=check_places(wanted.allowed_from),
            days=check_days(wanted.expires_in_days),
            digest=digest(secret),
        )
        return new, self._text(new.id, secret)

    def _text(self, id_: UUID, secret: bytes) -> str:
        shown = TokenText(environment=self.environment, id=id_, secret=secret)
        return shown.written()


def _held_by(instruction: Instruction) -> Check:
    """Return what refuses a token that may do more than whoever would have it."""

    def check(token: Token) -> None:
        # A word that a newer version has given allows nothing here.
        for scope in set(token.scopes) & set(Permission):
            instruction.require(Permission(scope))

    return check
