"""Which events are asked for."""

from datetime import datetime
from typing import Annotated, Final
from uuid import UUID

import msgspec
from litestar.params import QueryParameter

from api.http.lists.query import FromCursor, Limit
from api.http.problems.catalogue import INVALID_REQUEST
from api.http.problems.problem import ProblemError, misfit
from api.http.wire.ids import Prefix, given
from application.errors import NotFoundError
from projections.queries.grammar.values import RULES, bound
from projections.queries.page import DEFAULT

_NAME_CHARACTERS: Final = 256
_MOST_TYPES: Final = 20


class EventQuery(msgspec.Struct, frozen=True, kw_only=True):
    """One page of events, as it is asked for."""

    stream: UUID | None
    types: tuple[str, ...]
    correlation_id: str | None
    actor: str | None
    since: datetime | None
    until: datetime | None
    cursor: str | None
    limit: int

    @property
    def text(self) -> str:
        """What cursors are bound to."""
        asked = (self.stream, self.types, self.correlation_id, self.actor)
        return msgspec.json.encode((*asked, self.since, self.until)).decode()


OfStream = Annotated[
    str | None, QueryParameter(name="stream", description="Of this stream.")
]
OfTypes = Annotated[
    str | None,
    QueryParameter(name="type", description="What happened: tags, by commas."),
]
OfStory = Annotated[
    str | None,
    QueryParameter(
        name="correlationId", description="What belongs together by this id."
    ),
]
ByActor = Annotated[
    str | None, QueryParameter(name="actor", description="Whoever did it.")
]
Since = Annotated[
    str | None,
    QueryParameter(
        name="from",
        description=(
            "At or after this instant. Without a stream or a correlation a window is "
            "31 days at most, and the last 31 days when nothing is said."
        ),
    ),
]
Until = Annotated[
    str | None, QueryParameter(name="to", description="Before this instant.")
]


def event_query(  # noqa: PLR0913, PLR0917 - the parameters of the query, one to one
    stream: OfStream = None,
    type_: OfTypes = None,
    correlation_id: OfStory = None,
    actor: ByActor = None,
    from_: Since = None,
    to: Until = None,
    cursor: FromCursor = None,
    limit: Limit = DEFAULT,
) -> EventQuery:
    """Return what was asked for.

    Raises:
        ProblemError: names the parameter and what would be right.
    """
    types = tuple(dict.fromkeys(type_.split(","))) if type_ else ()
    if len(types) > _MOST_TYPES:
        name, rule = "type", f"at most {_MOST_TYPES} are possible"
        raise wrong(name, rule)
    texts = {"correlationId": correlation_id, "actor": actor}
    for name, text in texts.items():
        _check(name, text)
    for each in types:
        _check("type", each)
    return EventQuery(
        stream=None if stream is None else _stream(stream),
        types=types,
        correlation_id=correlation_id,
        actor=actor,
        since=_instant("from", from_),
        until=_instant("to", to),
        cursor=cursor,
        limit=limit,
    )


def _stream(text: str) -> UUID:
    try:
        return given(text, *Prefix)
    except NotFoundError as error:
        name, rule = "stream", "is an id, with the prefix of what it is or without"
        raise wrong(name, rule) from error


def _check(name: str, text: str | None) -> None:
    if text is None:
        return
    if not text.isprintable() or not 1 <= len(text) <= _NAME_CHARACTERS:
        raise wrong(name, f"must be 1 to {_NAME_CHARACTERS} printable characters")


def _instant(name: str, text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        found = bound(text, "instant")
    except (ValueError, OverflowError) as error:
        raise wrong(name, RULES["instant"]) from error
    return found if isinstance(found, datetime) else None


def wrong(name: str, rule: str) -> ProblemError:
    """Return the refusal of a parameter."""
    return misfit(name, rule, INVALID_REQUEST)
