"""How far a bulk operation is, beside what its stream says."""

from application.unit import Head
from domain.bulk.commands import Tally
from domain.event import Instant


class BulkHead(Head, frozen=True, kw_only=True):
    """The locked head of a bulk operation, with its volatile columns.

    They are written with the items, under the head's lock.
    """

    n_previewed: int
    """Items that were looked at: the first so many."""
    tally: Tally
    """Items that were begun: the first so many."""
    created_at: Instant
    no_room_since: Instant | None
    """Since when the next item has found no room for its job."""
