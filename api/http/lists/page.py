"""One page of a list: asked of its read model, and rendered."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol
from urllib.parse import urlencode

from litestar import Response
from msgspec.structs import replace

from api.http.call import Call
from api.http.lists.cursors import INVALID_CURSOR, Cursor, Scope, seal, unseal
from api.http.lists.query import ListQuery
from api.http.lists.views import CountView, ListView, PageView, as_of
from api.http.lists.waiting import no_older_than, told_if_behind
from api.http.problems.catalogue import INVALID_REQUEST
from api.http.problems.problem import ProblemError, misfit
from domain.errors import InvalidRequestError
from projections.queries.grammar.vocabulary import Vocabulary
from projections.queries.listing import Listing
from projections.queries.page import Edge, Page
from projections.queries.terms import TENANT, Among, Asked, Term
from projections.reading import AsOf, AtLeast

_SORT: Final = "sort"
_DOWN: Final = "-"


class Ask[R](Protocol):
    """A query of `projections.queries`."""

    def __call__(self, asked: Asked, /, *, at_least: AtLeast | None = None) -> Page[R]:
        """Return one page."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A list as a surface offers it."""

    name: str
    """For cursors: those of one list are none of another."""
    vocabulary: Vocabulary
    listing: Listing[Any]
    default: str = ""
    """The filter when nobody asks for anything."""
    fixed: tuple[Term, ...] = ()
    """Of every row, whatever is asked for."""

    @property
    def sort(self) -> str:
        """What the list is ordered by, as it is named on the wire."""
        first, *rest = self.listing.order[0][0].split("_")
        return first + "".join(map(str.capitalize, rest))


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is asked for, and what its cursors are bound to."""

    asked: Asked
    at_least: AtLeast | None
    scope: Scope


@dataclass(frozen=True, slots=True)
class Cursors:
    """Where a list goes on, as it is told."""

    next: str | None
    prev: str | None


def listed[R, V](
    call: Call,
    query: ListQuery,
    offer: Offer,
    ask: Ask[R],
    view: Callable[[R, AsOf], V],
) -> Response[ListView[V]]:
    """Return one page of a list, of the records that the caller may see."""
    page, cursors = asked_page(call, query, offer, ask)
    return answered(call, page, cursors, view)


def asked_page[R](
    call: Call, query: ListQuery, offer: Offer, ask: Ask[R]
) -> tuple[Page[R], Cursors]:
    """Return one page of the caller's records, and cursors to those beside it."""
    wanted = wanted_of(call, query, offer)
    with told_if_behind(offer.name):
        page = ask(wanted.asked, at_least=wanted.at_least)
    secret = call.services.cursor_secret()

    def told(edge: Edge | None, *, is_back: bool) -> str | None:
        if edge is None:
            return None
        position = page.as_of.position
        cursor = Cursor(place=str(edge), is_back=is_back, position=position)
        return seal(cursor, wanted.scope, secret)

    return page, Cursors(told(page.next, is_back=False), told(page.prev, is_back=True))


def wanted_of(call: Call, query: ListQuery, offer: Offer) -> Wanted:
    """Return what is asked for.

    Raises:
        InvalidFilterError: see `Vocabulary.terms`.
        ProblemError: no list is ordered so, or the cursor is none of this one.
    """
    text = offer.default if query.filter is None else query.filter
    terms = offer.vocabulary.terms(text)
    is_oldest_first = _is_oldest_first(query.sort, offer.sort)
    scope = Scope(
        of=offer.name,
        tenant_id=call.tenant_id,
        filter=offer.vocabulary.canonical(text),
        sort=offer.sort if is_oldest_first else _DOWN + offer.sort,
    )
    asked = Asked(
        terms=(*terms, *offer.fixed, Among(TENANT, (call.tenant_id,))),
        limit=query.limit,
        is_counted=query.is_counted,
        is_oldest_first=is_oldest_first,
    )
    least = query.at_position or 0
    if query.cursor is not None:
        cursor = unseal(query.cursor, scope, call.services.cursor_secret())
        edge = _edge(offer, cursor)
        asked = (
            replace(asked, before=edge)
            if cursor.is_back
            else replace(asked, after=edge)
        )
        least = max(least, cursor.position)
    at_least = no_older_than(call, least or None)
    return Wanted(asked=asked, at_least=at_least, scope=scope)


def _edge(offer: Offer, cursor: Cursor) -> Edge:
    try:
        return offer.listing.edge(cursor.place)
    except InvalidRequestError as error:  # of another version of the list
        detail = "cursor: it is of an older version of this list; begin without one"
        raise ProblemError(INVALID_CURSOR, detail) from error


def _is_oldest_first(told: str | None, own: str) -> bool:
    if told in {None, _DOWN + own}:
        return False
    if told != own:
        rule = f"this list is ordered by {_DOWN}{own} (the newest first) or {own}"
        raise misfit(_SORT, rule, INVALID_REQUEST)
    return True


def answered[R, V](
    call: Call, page: Page[R], cursors: Cursors, view: Callable[[R, AsOf], V]
) -> Response[ListView[V]]:
    """Return a page as it is answered, with links to those beside it."""
    body = ListView(
        items=tuple(view(row, page.as_of) for row in page.items),
        page=PageView(next=cursors.next, prev=cursors.prev, limit=page.limit),
        count=None
        if page.count is None
        else CountView(value=page.count.value, relation=page.count.relation),
        as_of=as_of(page.as_of),
    )
    links = [
        f'<{_address(call, cursor)}>; rel="{rel}"'
        for rel, cursor in (("next", cursors.next), ("prev", cursors.prev))
        if cursor is not None
    ]
    headers = {"X-As-Of-Position": str(page.as_of.position)}
    if links:
        headers["Link"] = ", ".join(links)
    return Response(body, headers=headers)


def _address(call: Call, cursor: str) -> str:
    url = call.request.url
    kept = [
        (name, value)
        for name, value in call.request.query_params.multi_items()
        if name != "cursor"
    ]
    return f"{url.path}?{urlencode([*kept, ('cursor', cursor)])}"
