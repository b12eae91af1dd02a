r"""A filter as it is written: clauses of names, signs and values, and their text.

filter = clause *(space clause)             all of them hold
clause = ["-"] name ":" (values / sign value)
values = value *("," value)                 one of them
sign   = ">=" / ">" / "<=" / "<"
value  = bare / quoted                      `a b` is written "a b", and " is \"
"""

import re
from typing import Final, Literal

import msgspec

from projections.queries.grammar.errors import InvalidFilterError
from projections.queries.terms import MOST_TERMS, MOST_VALUES

MOST_CHARACTERS: Final = 2_000

type Sign = Literal["", ">=", ">", "<=", "<"]

_SPACE: Final = re.compile(r"\s+")
_HEAD: Final = re.compile(r"(-?)([A-Za-z][A-Za-z0-9_.]{0,63}):(>=|<=|>|<)?")
_BARE: Final = re.compile(r"[^\s\",<>\\][^\s\",\\]*")
_QUOTED: Final = re.compile(r'"((?:[^"\\]|\\["\\])*)"')
_ESCAPED: Final = re.compile(r"\\(.)")
_SPECIAL: Final = re.compile(r'["\\]')
_TERM: Final = re.compile(r"\S*")


class Clause(msgspec.Struct, frozen=True, kw_only=True):
    """One demand of a filter, as it was written."""

    name: str
    values: tuple[str, ...]
    """One of them; of a bound, the only one."""
    sign: Sign = ""
    is_negated: bool = False


def parse(text: str) -> tuple[Clause, ...]:
    """Return the clauses of a filter; none when it is empty.

    Raises:
        InvalidFilterError: it is none, or longer than one may be.
    """
    if len(text) > MOST_CHARACTERS:
        detail = f"at most {MOST_CHARACTERS:,} characters are possible"
        raise InvalidFilterError(detail)
    clauses: list[Clause] = []
    at = _beyond_space(text, 0)
    while at < len(text):
        if len(clauses) == MOST_TERMS:
            detail = f"at most {MOST_TERMS} terms are possible"
            raise InvalidFilterError(detail)
        clause, at = _clause(text, at)
        clauses.append(clause)
        at = _beyond_space(text, at)
    return tuple(clauses)


def _beyond_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _clause(text: str, start: int) -> tuple[Clause, int]:
    """Return the clause that begins there, and where it ends."""
    head = _HEAD.match(text, start)
    if head is None:
        rule = "write it as field:value, field:a,b, field:>=value or -field:value"
        raise InvalidFilterError(rule, term=_term(text, start))
    at = head.end()
    values: list[str] = []
    while True:
        value, at = _value(text, start, at)
        values.append(value)
        if text[at : at + 1] != ",":
            break
        at += 1
    if at < len(text) and not text[at].isspace():
        rule = "a value with spaces, commas or quotes is written in quotes"
        raise InvalidFilterError(rule, term=_term(text, start), field=head[2])
    sign = _sign(head[3])
    most = 1 if sign else MOST_VALUES
    if len(values) > most:
        rule = "a bound is one value" if sign else f"at most {most} values are possible"
        raise InvalidFilterError(rule, term=_term(text, start), field=head[2])
    is_negated = head[1] == "-"
    clause = Clause(
        name=head[2], values=tuple(values), sign=sign, is_negated=is_negated
    )
    return clause, at


def _sign(told: str | None) -> Sign:
    match told:
        case ">=" | ">" | "<=" | "<":
            return told
        case _:
            return ""


def _value(text: str, start: int, at: int) -> tuple[str, int]:
    """Return the value that stands there, and where it ends."""
    if bare := _BARE.match(text, at):
        return bare[0], bare.end()
    if quoted := _QUOTED.match(text, at):
        return _ESCAPED.sub(r"\1", quoted[1]), quoted.end()
    if text[at : at + 1] == '"':
        rule = 'a quote is not closed, or holds a \\ that is not \\\\ or \\"'
    else:
        rule = 'a value is missing, or has to be quoted; the empty one is ""'
    raise InvalidFilterError(rule, term=_term(text, start))


def _term(text: str, start: int) -> str:
    found = _TERM.match(text, start)
    return found[0] if found else ""


def printed(clauses: tuple[Clause, ...]) -> str:
    """Return the text of clauses: of all texts that mean them, always the same."""
    return " ".join(map(_printed, clauses))


def _printed(clause: Clause) -> str:
    values = ",".join(map(_told, clause.values))
    return f"{'-' if clause.is_negated else ''}{clause.name}:{clause.sign}{values}"


def _told(value: str) -> str:
    if _BARE.fullmatch(value):
        return value
    return f'"{_SPECIAL.sub(r"\\\g<0>", value)}"'
