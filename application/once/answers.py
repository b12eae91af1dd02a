"""Answer a request under a key: carry it out, or show again what it was about."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from application.once.commit import AnsweredBeforeError
from application.unit import Answer, Once
from domain.errors import CounterfoilError


class Answers(Protocol):
    """What requests were answered with, by their keys."""

    def find(self, once: Once) -> Answer | None:
        """Return what the same request was answered with, or None.

        Raises:
            IdempotencyKeyReusedError: the key stands for another request.
        """
        ...


@dataclass(frozen=True, slots=True)
class Told:
    """What to answer with: the same again, when `is_repeated`."""

    answer: Answer
    is_repeated: bool


def answer_once(
    answers: Answers, once: Once | None, carry_out: Callable[[], Answer]
) -> Told:
    """Return the answer to a request, which is carried out unless it was before.

    Raises:
        IdempotencyKeyReusedError: the key stands for another request.
        IdempotencyInProgressError: the same request is being carried out.
        CounterfoilError: what `carry_out` raises; the key is not used up.
    """
    if once is None:
        return Told(carry_out(), is_repeated=False)
    before = answers.find(once)
    if before is not None:
        return Told(before, is_repeated=True)
    try:
        return Told(carry_out(), is_repeated=False)
    except AnsweredBeforeError as error:
        return Told(error.answer, is_repeated=True)
    except CounterfoilError:
        # What refuses it now may be what the same request has done meanwhile.
        meanwhile = answers.find(once)
        if meanwhile is None:
            raise
        return Told(meanwhile, is_repeated=True)
