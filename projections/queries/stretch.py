"""A stretch of a list's order: from where to where rows are looked for."""

from dataclasses import dataclass, replace
from typing import Any, Self

from projections.queries.page import Edge


@dataclass(frozen=True, slots=True)
class Stretch:
    """All places above `lower` and below `upper`; None: without end."""

    lower: Edge | None = None
    upper: Edge | None = None

    def above(self, edge: Edge | None) -> Self:
        """Return what of it is above a place."""
        return replace(self, lower=_tighter(self.lower, edge, is_lower=True))

    def under(self, edge: Edge | None) -> Self:
        """Return what of it is below a place."""
        return replace(self, upper=_tighter(self.upper, edge, is_lower=False))

    def beyond(self, edge: Edge | None, *, downwards: bool) -> Self:
        """Return what of it comes after a place, for who goes that way."""
        return self.under(edge) if downwards else self.above(edge)


def _tighter(one: Edge | None, other: Edge | None, *, is_lower: bool) -> Edge | None:
    """Return the bound that leaves less."""
    if one is None or other is None:
        return one if other is None else other
    shared = min(len(one.key), len(other.key))
    # Places of one list: the values of a column are of one type.
    left: tuple[Any, ...] = one.key[:shared]
    right: tuple[Any, ...] = other.key[:shared]
    if left != right:
        return one if (left > right) == is_lower else other
    short, long = sorted((one, other), key=lambda edge: len(edge.key))
    # All that begin so are left out, or all of them are in and the longer one decides.
    return long if short.is_included else short
