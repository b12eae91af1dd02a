"""What is told of people and tokens: nothing that opens anything, but once."""

from typing import override

import msgspec

from api.http.wire.ids import Prefix, told
from api.http.wire.values import Moment, Position, moment, moment_if, position
from application.access.people import KeptPerson
from application.access.principal import Principal
from application.access.signing_in import SignedIn
from application.access.tokens import Made, Token
from domain.access.permissions import Permission
from domain.access.roles import GRANTS, Role


class PersonView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Somebody."""

    id: str
    name: str
    role: str
    state: str
    """`enabled` or `disabled`."""
    created_at: Moment
    position: Position
    """A read at this position sees them."""


class MeView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Who has signed in."""

    id: str | None
    name: str
    role: Role | None
    tenant_id: str
    permissions: list[Permission]
    csrf_token: str
    """For the header `X-CSRF-Token` of whatever changes something."""

    @override
    def __repr__(self) -> str:
        """Return who it is."""
        return f"MeView({self.name!r})"


class SessionView(MeView, frozen=True, kw_only=True, rename="camel"):
    """Somebody who has just signed in."""

    ends_at: Moment
    """However often it is used; half an hour without use ends it sooner."""

    @override
    def __repr__(self) -> str:
        """Return who it is."""
        return f"SessionView({self.name!r})"


class TokenView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A token: nothing of its secret."""

    id: str
    name: str
    surface: str
    scopes: tuple[str, ...]
    allowed_from: tuple[str, ...]
    state: str
    """`live`, `expired` or `revoked`."""
    created_by: str
    created_at: Moment
    expires_at: Moment
    rotated_at: Moment
    previous_until: Moment | None
    """Until when the secret before is good as well."""
    last_used_at: Moment | None
    """To the minute."""
    revoked_at: Moment | None


class TokensView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """All tokens of a tenant."""

    items: list[TokenView]


class MadeView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A new token, with its text."""

    token: TokenView
    text: str
    """What the program shows; it is told this once."""
    position: Position

    @override
    def __repr__(self) -> str:
        """Return it without its text."""
        return f"MadeView({self.token!r})"


def person(kept: KeptPerson) -> PersonView:
    """Return somebody as the API tells of them."""
    found = kept.person
    return PersonView(
        id=told(Prefix.PERSON, found.id),
        name=found.name,
        role=found.role,
        state=found.state,
        created_at=moment(found.created_at),
        position=position(kept.position),
    )


def me(principal: Principal, csrf: str) -> MeView:
    """Return who has signed in."""
    return MeView(
        id=None if principal.id is None else told(Prefix.PERSON, principal.id),
        name=principal.actor.id,
        role=principal.role,
        tenant_id=principal.tenant_id,
        permissions=sorted(principal.permissions),
        csrf_token=csrf,
    )


def session(signed_in: SignedIn) -> SessionView:
    """Return who has just signed in."""
    found = signed_in.person
    return SessionView(
        id=told(Prefix.PERSON, found.id),
        name=found.name,
        role=found.role,
        tenant_id=found.tenant_id,
        permissions=sorted(GRANTS[found.role]),
        csrf_token=signed_in.csrf,
        ends_at=moment(signed_in.ends_at),
    )


def token(found: Token) -> TokenView:
    """Return a token as the API tells of it."""
    return TokenView(
        id=told(Prefix.TOKEN, found.id),
        name=found.name,
        surface=found.surface,
        scopes=found.scopes,
        allowed_from=found.allowed_from,
        state=found.state,
        created_by=found.created_by,
        created_at=moment(found.created_at),
        expires_at=moment(found.expires_at),
        rotated_at=moment(found.rotated_at),
        previous_until=moment_if(found.previous_until),
        last_used_at=moment_if(found.last_used_at),
        revoked_at=moment_if(found.revoked_at),
    )


def made(found: Made) -> MadeView:
    """Return a new token, with its text."""
    return MadeView(
        token=token(found.token), text=found.text, position=position(found.position)
    )
