"""The check at the demo's end: the simulators' books and the people's diary against us.

Read with plain SQL and SQLite, and judged by rules that are written here anew: no
decider, fold or adapter of the product is asked whether the product was right.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from infrastructure.demo.check import (
    calls,
    commands,
    customers,
    drifts,
    goods,
    maintenance,
    orders,
    read_models,
)
from infrastructure.demo.check.books import Ask, Books, read_books
from infrastructure.demo.diary import Diary
from infrastructure.postgres.database import Connection

_SHOWN: Final = 5

_QUESTIONS: Final[tuple[tuple[str, Ask], ...]] = (
    orders.EVERY_ORDER,
    *customers.QUESTIONS,
    commands.EVERY_COMMAND,
    drifts.EVERY_EDIT,
    *goods.QUESTIONS,
    *maintenance.QUESTIONS,
    *calls.QUESTIONS,
    orders.EVERY_DEATH,
    *read_models.QUESTIONS,
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One question that was put to all books."""

    question: str
    compared: int
    disagreements: tuple[str, ...]


def check(
    connection: Connection, book: Path, ledger: Path, diary: Diary
) -> list[Finding]:
    """Return what the books say about each question; none may disagree."""
    books = read_books(connection, book, ledger, diary)
    return [_asked(question, ask, books) for question, ask in _QUESTIONS]


def _asked(question: str, ask: Ask, books: Books) -> Finding:
    answers = list(ask(books))
    wrong = tuple(answer for answer in answers if answer is not None)
    return Finding(question, len(answers), wrong)


def first_few(finding: Finding) -> tuple[str, ...]:
    """Return the first disagreements of a finding, and how many more there are."""
    shown = finding.disagreements[:_SHOWN]
    more = len(finding.disagreements) - len(shown)
    return (*shown, f"… and {more} more") if more > 0 else shown
