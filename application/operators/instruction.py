"""Who asks for something, and why: no operator acts without a reason (I9)."""

from typing import Final

import msgspec

from application.errors import ForbiddenError
from application.unit import Once
from domain.access.permissions import EVERY, Permission
from domain.access.roles import Role
from domain.errors import InvalidRequestError
from domain.event import Actor, Causation, Meta
from domain.text import clean, cut, stated, storable

SHORTEST_REASON: Final = 3
LONGEST_REASON: Final = 400
_NAME_CHARACTERS: Final = 128
_KEY_CHARACTERS: Final = 128


class Instruction(msgspec.Struct, frozen=True, kw_only=True):
    """One action that a person asks for; see `instruct`."""

    actor: Actor
    reason: str
    role: Role | None = None
    """The person's; whoever works at the command line has none."""
    tenant_id: str | None = None
    """Whose records they may touch; None: everybody's, as at the command line."""
    permissions: frozenset[Permission] = EVERY
    """What they may do; whoever has the command line has the database as well."""
    request_id: str | None = None
    once: Once | None = None
    """The key under which it is asked for, if it has one: whoever repeats it so."""

    def require(self, permission: Permission) -> None:
        """Return when it is allowed.

        Raises:
            ForbiddenError: it is not.
        """
        if permission not in self.permissions:
            raise ForbiddenError(permission)

    def sees(self, tenant_id: str) -> bool:
        """Whether records of that tenant exist for them."""
        return self.tenant_id in {None, tenant_id}

    def meta(self, correlation_id: str) -> Meta:
        """Return what is written beside every event of the action."""
        return Meta(
            actor=self.actor,
            correlation_id=correlation_id,
            causation=Causation(request_id=self.request_id),
            reason=self.reason,
            role=self.role,
        )


def instruct(
    operator: str,
    reason: str,
    longest: int = LONGEST_REASON,
    *,
    shortest: int = SHORTEST_REASON,
) -> Instruction:
    """Return the instruction of the operator of that name.

    Raises:
        InvalidRequestError: the reason is not `shortest` to `longest` characters, or
            there is no name.
    """
    told = clean(reason).strip()
    if not shortest <= len(told) <= longest:
        rule = f"why, in {shortest} to {longest} characters"
        code = "reason_required"
        raise InvalidRequestError(code, "reason", rule)
    name = cut(clean(operator).strip(), _NAME_CHARACTERS)
    if not name:
        code = "operator_required"
        raise InvalidRequestError(code, "operator", "the name of whoever decides")
    return Instruction(
        actor=Actor(type="operator", id=name), reason=storable(told, longest)
    )


def as_given(key: str) -> str:
    """Return an id that a person gave, so that it can be written down."""
    return stated(key.strip(), _KEY_CHARACTERS)
