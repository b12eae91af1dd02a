"""What a list is asked for: terms over its fields, and one page of what they leave.

Whatever is accepted goes by an index, so an undeclared field is refused.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Final, Literal, NoReturn
from uuid import UUID

import msgspec

from domain.errors import InvalidRequestError
from domain.text import is_storable
from projections.queries.page import DEFAULT, INVALID_PAGE, MOST, Edge

INVALID_FILTER: Final = "invalid_filter"

MOST_VALUES: Final = 100
"""Of one term: each costs a look of its own."""
MOST_TERMS: Final = 12
"""That somebody asks for; see `_is_counted`."""
TENANT: Final = "tenant"
"""The field of every list that says whose a row is."""

type Scalar = str | int | bool | UUID | datetime
type Bound = datetime | int | timedelta


@dataclass(frozen=True, slots=True)
class Field:
    """One declared field of a list: a column that is indexed with the list's order."""

    column: str
    type: Literal["text", "uuid", "integer", "bigint", "boolean", "timestamptz"]
    """The column's type in PostgreSQL."""
    is_unique: bool = False
    """Whether no two rows have the same value."""
    is_range: bool = False
    """Whether it takes bounds alone, so that its index need not hold the order."""


class Among(msgspec.Struct, frozen=True):
    """The field has one of these values."""

    field: str
    values: tuple[Scalar, ...]


class Between(msgspec.Struct, frozen=True):
    """The field is at or above `least`, and below `below`; None: whatever.

    A timedelta is the instant so long before the moment of the page.
    """

    field: str
    least: Bound | None = None
    below: Bound | None = None


class Missing(msgspec.Struct, frozen=True):
    """The field has no value."""

    field: str


class Either(msgspec.Struct, frozen=True):
    """One of these combinations holds, of rows that another term leads to.

    No index finds it, so it may name columns that have none: `Listing.conditions`.
    """

    field: str
    """What it is about."""
    ways: tuple[tuple[Among | Between | Missing, ...], ...]
    """Of one of them, all holds."""


type Part = Among | Between | Missing
type Term = Among | Between | Either

NO_FIELDS: Final[Mapping[str, Field]] = MappingProxyType({})


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """One page of a list, as somebody asks for it."""

    terms: tuple[Term, ...] = ()
    """All of them hold for every row."""
    after: Edge | None = None
    """The page begins behind this place, in the list's order."""
    before: Edge | None = None
    """The page ends in front of this place."""
    limit: int = DEFAULT
    is_counted: bool = False
    is_oldest_first: bool = False


def check(
    asked: Asked,
    fields: Mapping[str, Field],
    *,
    leading: str,
    conditions: Mapping[str, Field] = NO_FIELDS,
) -> None:
    """Refuse what the list does not have; `leading` is the column that orders it.

    `conditions` are columns that rows may be held against, but not found by.

    Raises:
        InvalidRequestError: names the member and what would be right.
    """
    if not 1 <= asked.limit <= MOST:
        refuse(INVALID_PAGE, "limit", f"must be from 1 to {MOST}")
    if asked.after is not None and asked.before is not None:
        refuse(INVALID_PAGE, "before", "cannot be given together with after")
    if sum(map(_is_counted, asked.terms)) > MOST_TERMS:
        refuse(INVALID_FILTER, "", f"at most {MOST_TERMS} terms are possible")
    for term in asked.terms:
        if isinstance(term, Either):
            for part in (part for way in term.ways for part in way):
                _check_part(part, {**fields, **conditions})
            continue
        field = _field(term, fields)
        if isinstance(term, Between):
            _check_bounds(term, field)
        elif field.is_range or field.column == leading:
            refuse(INVALID_FILTER, term.field, "takes bounds, not values")
        else:
            _check_values(term, field)


def _is_counted(term: Term) -> bool:
    """Return whether somebody asked for it: whose rows they may see, nobody does."""
    return not isinstance(term, Either) and term.field != TENANT


def _field(term: Part, fields: Mapping[str, Field]) -> Field:
    field = fields.get(term.field)
    if field is None:
        names = ", ".join(sorted(fields))
        refuse(INVALID_FILTER, term.field, f"not a field; there are: {names}")
    return field


def _check_part(part: Part, fields: Mapping[str, Field]) -> None:
    field = _field(part, fields)
    match part:
        case Among():
            _check_values(part, field)
        case Between():
            _check_bounds(part, field)
        case Missing():
            pass


def _check_values(term: Among, field: Field) -> None:
    if not 1 <= len(term.values) <= MOST_VALUES:
        detail = f"must have from 1 to {MOST_VALUES} values"
        refuse(INVALID_FILTER, term.field, detail)
    for value in term.values:
        if not _fits(value, field):
            refuse(INVALID_FILTER, term.field, f"is of type {field.type}")


def _fits(value: Scalar, field: Field) -> bool:
    match field.type:
        case "text":
            return isinstance(value, str) and is_storable(value)
        case "uuid":
            return isinstance(value, UUID)
        case "boolean":
            return isinstance(value, bool)
        case "timestamptz":
            return isinstance(value, datetime) and value.tzinfo is not None
        case "integer" | "bigint":
            most = 1 << (31 if field.type == "integer" else 63)
            if isinstance(value, bool) or not isinstance(value, int):
                return False
            return -most <= value < most


def _check_bounds(term: Between, field: Field) -> None:
    if term.least is None and term.below is None:
        refuse(INVALID_FILTER, term.field, "needs a bound")
    for bound in (term.least, term.below):
        is_age = isinstance(bound, timedelta) and field.type == "timestamptz"
        if not (bound is None or is_age or _has_order(bound, field)):
            refuse(INVALID_FILTER, term.field, f"{field.type} cannot be bounded so")


def _has_order(bound: Bound, field: Field) -> bool:
    return not isinstance(bound, timedelta) and _fits(bound, field)


def check_tenant(tenant_id: str | None) -> None:
    """Refuse what can be the name of no tenant.

    Raises:
        InvalidRequestError: names the member.
    """
    if not is_storable(tenant_id or ""):
        rule = "must hold neither NUL nor half of a character"
        refuse(INVALID_FILTER, "tenant", rule)


def refuse(code: str, path: str, detail: str) -> NoReturn:
    """Raise what names a member, and what would be right."""
    raise InvalidRequestError(code, path, detail)
