"""What a list's filters are written with: names, the types behind them, their words.

A name that stands for one of a few words can be negated: what is left are the other
words.  A bound can be, too: it is the other side.  What something of many is *not*, no
index finds.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from projections.queries.grammar.clauses import Clause, Sign, parse, printed
from projections.queries.grammar.errors import (
    InvalidFilterError,
    UndeclaredFieldError,
)
from projections.queries.grammar.values import RULES, Type, bound, scalar, sides
from projections.queries.terms import (
    Among,
    Between,
    Either,
    Missing,
    Scalar,
    Term,
)

type Way = tuple[Between | Missing | Among, ...]
"""What else holds, beside that the column has its value."""

_OTHER_SIDE: Final[Mapping[Sign, Sign]] = {"<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_NO_INDEX: Final = (
    "cannot be negated: no index finds what it is not; name the values that are wanted"
)


@dataclass(frozen=True, slots=True)
class Meaning:
    """What one word stands for: a value of the column, and what else holds."""

    value: str
    ways: tuple[Way, ...] = ()
    """One of them; none: nothing else."""


type Meanings = tuple[Meaning, ...]


def plain(*words: str) -> Mapping[str, Meanings]:
    """Return words that are the column's own values."""
    return {word: (Meaning(word),) for word in words}


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """One name of a filter."""

    field: str
    """The list's."""
    type: Type
    prefix: str = ""
    """With which ids may begin."""
    words: Mapping[str, Meanings]
    """All that there are; none: any value of the type."""
    is_bounded: bool = False
    """Whether it takes bounds alone."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The names of one list's filters, on one surface."""

    names: Mapping[str, Word]

    def terms(self, text: str) -> tuple[Term, ...]:
        """Return what a filter asks for; nothing when it is empty.

        Raises:
            InvalidFilterError: names the term and what would be right.
        """
        return tuple(term for each in parse(text) for term in self._terms(each))

    def canonical(self, text: str) -> str:
        """Return the one text of all that say the same in other spaces and quotes.

        Raises:
            InvalidFilterError: see `terms`.
        """
        clauses = parse(text)
        for each in clauses:
            self._terms(each)
        return printed(clauses)

    def _terms(self, clause: Clause) -> tuple[Term, ...]:
        word = self.names.get(clause.name)
        if word is None:
            raise UndeclaredFieldError(printed((clause,)), sorted(self.names))
        if clause.sign:
            return (_bounded(clause, word, clause.sign),)
        if word.is_bounded:
            raise _wrong(clause, f"takes a bound, as in {clause.name}:>=…")
        if word.words:
            return _said(clause, word)
        if clause.is_negated:
            raise _wrong(clause, _NO_INDEX)
        return (Among(word.field, _scalars(clause, word)),)


def _wrong(clause: Clause, detail: str) -> InvalidFilterError:
    return InvalidFilterError(detail, term=printed((clause,)), field=clause.name)


def _bounded(clause: Clause, word: Word, written: Sign) -> Between:
    sign = _OTHER_SIDE[written] if clause.is_negated else written
    try:
        value = bound(clause.values[0], word.type)
        least, below = sides(value, sign)
    except (ValueError, OverflowError) as error:
        is_boundless = word.words or word.type in {"text", "uuid", "boolean"}
        rule = "takes values, not bounds" if is_boundless else RULES[word.type]
        raise _wrong(clause, rule) from error
    return Between(word.field, least, below)


def _scalars(clause: Clause, word: Word) -> tuple[Scalar, ...]:
    try:
        return tuple(scalar(it, word.type, word.prefix) for it in clause.values)
    except (ValueError, OverflowError) as error:
        raise _wrong(clause, RULES[word.type]) from error


def _said(clause: Clause, word: Word) -> tuple[Term, ...]:
    """Return what words stand for: whatever leads to rows, and what else holds."""
    for value in clause.values:
        if value not in word.words:
            known = ", ".join(word.words)
            raise _wrong(clause, f"is none of: {known}")
    wanted = (
        # A word may stand for others: these are what is left of all meanings.
        _others(clause, word) if clause.is_negated else _meant(clause.values, word)
    )
    if not wanted:
        raise _wrong(clause, "leaves nothing")
    values = tuple(dict.fromkeys(each.value for each in wanted))
    among = Among(word.field, values)
    if not any(each.ways for each in wanted):
        return (among,)
    ways = (
        (Among(word.field, (each.value,)), *way)
        for each in wanted
        for way in each.ways or ((),)
    )
    return among, Either(word.field, tuple(ways))


def _meant(said: tuple[str, ...], word: Word) -> Meanings:
    return tuple(dict.fromkeys(it for each in said for it in word.words[each]))


def _others(clause: Clause, word: Word) -> Meanings:
    unwanted = set(_meant(clause.values, word))
    everything = _meant(tuple(word.words), word)
    return tuple(it for it in everything if it not in unwanted)
