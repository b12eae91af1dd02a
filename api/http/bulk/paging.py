"""Pages of bulk operations and of their items: by keyset, with signed cursors."""

from typing import Final
from uuid import UUID

import msgspec

from api.http.bulk.views import BulkItemView, BulkView, bulk_view, item_view
from api.http.call import Call
from api.http.lists.cursors import Cursor, Scope, seal, unseal
from api.http.lists.views import PageView
from projections.queries.bulk.operations import BulkLine

_NEWEST_FIRST: Final = "-createdAt"
_BY_NUMBER: Final = "n"


class BulksView(msgspec.Struct, frozen=True, kw_only=True):
    """One page of bulk operations, the newest first."""

    items: tuple[BulkView, ...]
    page: PageView


class BulkItemsView(msgspec.Struct, frozen=True, kw_only=True):
    """One page of items, in the order in which they are begun."""

    items: tuple[BulkItemView, ...]
    page: PageView


def bulks(call: Call, cursor: str | None, limit: int) -> BulksView:
    """Return one page of the caller's bulk operations."""
    scope = _scope(call, "bulk", _NEWEST_FIRST)
    place = _place(call, cursor, scope)
    before = None if place is None else UUID(place)
    lines = call.services.queries.bulk.page(call.tenant_id, before, limit + 1)
    shown = lines[:limit]
    last = str(shown[-1].bulk_id) if len(lines) > limit else None
    return BulksView(
        items=tuple(bulk_view(call.surface, line) for line in shown),
        page=_page(call, scope, last, limit),
    )


def items(call: Call, bulk: BulkLine, cursor: str | None, limit: int) -> BulkItemsView:
    """Return one page of the items of a bulk operation."""
    scope = _scope(call, f"bulk_items:{bulk.bulk_id}", _BY_NUMBER)
    place = _place(call, cursor, scope)
    after = 0 if place is None else int(place)
    lines = call.services.queries.bulk_items(
        call.tenant_id, bulk.bulk_id, after=after, limit=limit + 1
    )
    shown = lines[:limit]
    last = str(shown[-1].n) if len(lines) > limit else None
    return BulkItemsView(
        items=tuple(map(item_view, shown)), page=_page(call, scope, last, limit)
    )


def _scope(call: Call, of: str, sort: str) -> Scope:
    return Scope(of=of, tenant_id=call.tenant_id, filter="", sort=sort)


def _place(call: Call, cursor: str | None, scope: Scope) -> str | None:
    if cursor is None:
        return None
    return unseal(cursor, scope, call.services.cursor_secret()).place


def _page(call: Call, scope: Scope, last: str | None, limit: int) -> PageView:
    following = None
    if last is not None:
        cursor = Cursor(place=last, is_back=False, position=0)
        following = seal(cursor, scope, call.services.cursor_secret())
    return PageView(next=following, prev=None, limit=limit)
