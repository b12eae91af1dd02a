"""What a list is asked for, in the query of its address."""

from typing import Annotated, Final, Literal

import msgspec
from litestar.params import QueryParameter

from projections.queries.grammar.clauses import MOST_CHARACTERS
from projections.queries.page import DEFAULT, MOST

_LAST: Final = (1 << 63) - 1


class ListQuery(msgspec.Struct, frozen=True, kw_only=True):
    """One page of a list, as it is asked for."""

    filter: str | None
    """None: whatever the list shows when nobody asks for anything."""
    cursor: str | None
    limit: int
    sort: str | None
    is_counted: bool
    at_position: int | None


Filter = Annotated[
    str | None,
    QueryParameter(
        name="f",
        description=(
            "Terms that all hold: `field:value`, `field:a,b`, `field:>=value`, "
            '`-field:value`; values with spaces in quotes: `order:"shop 1"`.'
        ),
        max_length=MOST_CHARACTERS,
    ),
]
FromCursor = Annotated[
    str | None,
    QueryParameter(
        name="cursor", description="Where to go on: `page.next` or `page.prev`."
    ),
]
Limit = Annotated[
    int, QueryParameter(name="limit", description="Items a page.", ge=1, le=MOST)
]
Sort = Annotated[
    str | None,
    QueryParameter(
        name="sort",
        description="The list's own order: `-createdAt`, or oldest first: `createdAt`.",
    ),
]
Counted = Annotated[
    Literal["capped"] | None,
    QueryParameter(name="count", description="Count what there is, up to 10,000."),
]
AtPosition = Annotated[
    int | None,
    QueryParameter(
        name="atPosition",
        description=(
            "Show nothing older than this position of the log, as answers to changes "
            "tell it; waited for up to 30 s."
        ),
        ge=0,
        le=_LAST,
    ),
]


def list_query(  # noqa: PLR0913, PLR0917 - the parameters of the query, one to one
    f: Filter = None,
    cursor: FromCursor = None,
    limit: Limit = DEFAULT,
    sort: Sort = None,
    count: Counted = None,
    at_position: AtPosition = None,
) -> ListQuery:
    """Return what was asked for."""
    return ListQuery(
        filter=f,
        cursor=cursor,
        limit=limit,
        sort=sort,
        is_counted=count is not None,
        at_position=at_position,
    )
