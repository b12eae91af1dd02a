"""Every query over read models and the feed, each a field: the only list of them."""

from dataclasses import dataclass

from projections.connections import Lend
from projections.queries.holders import FeedHolders


@dataclass(frozen=True, slots=True, kw_only=True)
class Queries:
    """What can be asked."""

    holders: FeedHolders
    """Who holds the feed back."""


def queries_over(lend: Lend) -> Queries:
    """Return the queries over connections that `lend` lends."""
    return Queries(holders=FeedHolders(lend))
