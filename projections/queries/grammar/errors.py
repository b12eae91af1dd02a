"""What is wrong with a filter: the term that is, and what there is instead."""

from collections.abc import Iterable
from typing import Final

from domain.errors import InvalidRequestError
from domain.text import storable
from projections.queries.terms import INVALID_FILTER

_SHOWN: Final = 80
"""Characters of a term that are told back."""


class InvalidFilterError(InvalidRequestError):
    """A filter cannot be read, or asks for what no index finds."""

    code = INVALID_FILTER

    def __init__(self, detail: str, *, term: str = "", field: str = "") -> None:
        """Say what would be right, of which term, and of which declared field."""
        self.term = storable(term, _SHOWN)
        self.field = field
        told = f"{self.term!r}: {detail}" if term else detail
        path = f"filter.{field}" if field else "filter"
        super().__init__(INVALID_FILTER, path, told)


class UndeclaredFieldError(InvalidFilterError):
    """The list has no such field."""

    def __init__(self, term: str, declared: Iterable[str]) -> None:
        """Name the term, and the fields that there are."""
        self.declared = tuple(declared)
        fields = ", ".join(self.declared)
        super().__init__(f"no field of this list; there are: {fields}", term=term)
