"""Rows of somebody's: which one is meant, and the fact of what was done to it."""

from collections.abc import Callable, Sequence
from typing import cast
from uuid import UUID

from application.access.record import about
from application.errors import NotFoundError
from application.operators.instruction import Instruction
from domain.operators.events import ActionTaken
from infrastructure.recording.recorded import Turn

type Row = tuple[object, ...]


def tell[T](
    turn: Turn[T],
    taken: ActionTaken,
    tenant_id: str,
    instruction: Instruction,
    answer: Callable[[int], T],
) -> T:
    """Return the answer to what was done, with its fact; see `Turn.record`."""
    meta = instruction.meta(about(taken.target_kind, UUID(taken.target)))
    return turn.record(taken, meta, answer, tenant_id)


def seen(found: Sequence[Row], what: str, key: str, instruction: Instruction) -> Row:
    """Return the one row that they see, whose first column is the tenant.

    Raises:
        NotFoundError: there is none.
    """
    for row in found:
        if instruction.sees(cast("str", row[0])):
            return row
    raise NotFoundError(what, key)


def as_id(key: str) -> UUID | None:
    """Return the id that a key is; None: it is a name."""
    try:
        return UUID(key)
    except ValueError:
        return None
