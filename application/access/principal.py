"""Who asks: a program with its token, or a person who has signed in."""

from typing import Final
from uuid import UUID

import msgspec

from application.operators.instruction import Instruction, instruct
from domain.access.permissions import Permission
from domain.access.roles import Role
from domain.event import Actor

SHORTEST_REASON: Final = 1
"""Of `X-Operator-Reason`; the command line wants three."""


class Principal(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody whose credential was right."""

    tenant_id: str
    """Whose records they see and change; those of others do not exist for them."""
    actor: Actor
    permissions: frozenset[Permission]
    role: Role | None = None
    """Of a person; a token has permissions alone."""
    id: UUID | None = None
    """The token's or the person's; None: the credential of the first start."""
    partition: str = ""
    """Of the limiter: a token's own; a person's is that of the session."""

    def instruct(self, reason: str, request_id: str | None) -> Instruction:
        """Return what they ask for, with why.

        Raises:
            InvalidRequestError: the reason is not 1 to 400 characters.
        """
        asked = instruct(self.actor.id, reason, shortest=SHORTEST_REASON)
        return msgspec.structs.replace(
            asked,
            actor=self.actor,
            role=self.role,
            tenant_id=self.tenant_id,
            permissions=self.permissions,
            request_id=request_id,
        )
