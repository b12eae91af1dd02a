"""Commit what a request under a key asks for, or say why its key forbids it."""

from typing import NoReturn

from application.errors import IdempotencyInProgressError, IdempotencyKeyReusedError
from application.unit import (
    KEY_IN_PROGRESS,
    Answer,
    Group,
    KeyRefused,
    Once,
    Repeated,
    Result,
    UnitOfWork,
)


class AnsweredBeforeError(Exception):
    """The request was answered before: no failure, and nothing to put on record."""

    def __init__(self, answer: Answer) -> None:
        """Take what it was answered with."""
        self.answer = answer
        super().__init__(f"answered before with {answer.status}")


def making(once: Once | None, kind: str, id_: object) -> Once | None:
    """Return the key of a request that makes or changes that; None has no key."""
    return None if once is None else once.making(kind, str(id_))


def commit_once(units: UnitOfWork, group: Group) -> Result:
    """Return what became of a group, once nothing is wrong with its key.

    Raises:
        AnsweredBeforeError: the same request was carried out before.
        IdempotencyInProgressError: the same request is being carried out.
        IdempotencyKeyReusedError: the key stands for another request.
        DatabaseUnavailableError: nothing is known to be done.
    """
    (result,) = units.commit([group])
    if isinstance(result, KeyRefused):
        refuse_key(result)
    return result


def refuse_key(refused: KeyRefused) -> NoReturn:
    """Raise what is wrong with a key.

    Raises:
        AnsweredBeforeError: see `commit_once`, and the others.
    """
    if isinstance(refused, Repeated):
        raise AnsweredBeforeError(refused.answer)
    if refused == KEY_IN_PROGRESS:
        raise IdempotencyInProgressError
    raise IdempotencyKeyReusedError
