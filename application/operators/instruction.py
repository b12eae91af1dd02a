"""Who asks for something, and why: no operator acts without a reason (I9)."""

from typing import Final

import msgspec

from domain.errors import InvalidRequestError
from domain.event import Actor, Meta
from domain.text import clean, cut, storable

SHORTEST_REASON: Final = 3
LONGEST_REASON: Final = 400
_NAME_CHARACTERS: Final = 128
_KEY_CHARACTERS: Final = 128


class Instruction(msgspec.Struct, frozen=True, kw_only=True):
    """One action that a person asks for; see `instruct`."""

    actor: Actor
    reason: str

    def meta(self, correlation_id: str) -> Meta:
        """Return what is written beside every event of the action."""
        return Meta(actor=self.actor, correlation_id=correlation_id, reason=self.reason)


def instruct(operator: str, reason: str, longest: int = LONGEST_REASON) -> Instruction:
    """Return the instruction of the operator of that name.

    Raises:
        InvalidRequestError: the reason is not 3 to `longest` characters, or there
            is no name.
    """
    told = clean(reason).strip()
    if not SHORTEST_REASON <= len(told) <= longest:
        rule = f"why, in {SHORTEST_REASON} to {longest} characters"
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
    return storable(key.strip(), _KEY_CHARACTERS)
