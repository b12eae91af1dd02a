"""One follower of the feed, at the edge of the event loop.

 follow ─► what lies before the feed's position, page by page ─► what the feed tells

A follower that is too slow, or asks for what lies too far back, is told to load anew.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from litestar.concurrency import sync_to_thread

from api.http.services import Feed
from projections.queries.changes import Beyond, Changes

_PAGE: Final = 500
_BEAT_SECONDS: Final = 15.0
_REST_SECONDS: Final = 0.25
_MOST_TOLD: Final = 64
"""Lots of the feed that wait for one follower."""


type Listener = Callable[[Beyond | None], None]


class TooFarBehindError(Exception):
    """What the follower has missed is too much to be told."""


@asynccontextmanager
async def followed(feed: Feed, listener: Listener) -> AsyncGenerator[int]:
    """Give the position beyond which `listener` is told, as long as the block lasts.

    Whoever is cancelled while he joins leaves as well, once he has joined.
    """
    joining = asyncio.ensure_future(sync_to_thread(feed.follow, listener))
    try:
        yield await asyncio.shield(joining)
    finally:
        joining.add_done_callback(lambda _: feed.leave(listener))


@dataclass(slots=True)
class Follower:
    """Follows from a position, None: from now on."""

    feed: Feed
    changes: Changes
    after: int | None
    rest: Callable[[float], Awaitable[object]] = asyncio.sleep

    async def follow(self) -> AsyncIterator[Beyond | None]:
        """Yield what happens; None whenever nothing did for a while.

        The first lot is empty: whatever happens after it is told.  Ends when the
        process does.

        Raises:
            TooFarBehindError: see there.
        """
        loop = asyncio.get_running_loop()
        told = _Told()

        def listener(found: Beyond | None) -> None:
            loop.call_soon_threadsafe(told.put, found)

        async with followed(self.feed, listener) as begin:
            position = begin if self.after is None else self.after
            yield Beyond((), position)
            async for found in self._before(position, begin):
                yield found
                position = found.position
            async for each in told.beyond(max(position, begin)):
                yield each

    async def _before(self, after: int, end: int) -> AsyncIterator[Beyond]:
        if await sync_to_thread(is_too_far, self.feed, self.changes, after, end):
            raise TooFarBehindError
        while after < end:
            found = await sync_to_thread(self.changes.beyond, after, _PAGE)
            if found.position == after:
                # Somebody who writes holds the log back, below what was told before.
                await self.rest(_REST_SECONDS)
                continue
            rows = tuple(row for row in found.rows if row.position <= end)
            after = found.position
            yield Beyond(rows, min(after, end))


class _Told:
    """What the feed has told and the follower has not taken yet; never without end."""

    def __init__(self) -> None:
        self._lots: asyncio.Queue[Beyond | None] = asyncio.Queue(_MOST_TOLD)
        self._is_lost = False

    def put(self, found: Beyond | None) -> None:
        """Keep a lot; a follower that takes none loses it, and all that come after."""
        if self._lots.full():
            self._is_lost = True
        if not self._is_lost:
            self._lots.put_nowait(found)

    async def beyond(self, after: int) -> AsyncIterator[Beyond | None]:
        """Yield lots as they come, None for a beat; ends when the feed does.

        Raises:
            TooFarBehindError: some were lost.
        """
        while not self._is_lost:
            try:
                found = await asyncio.wait_for(self._lots.get(), _BEAT_SECONDS)
            except TimeoutError:
                yield None
                continue
            if found is None:
                return
            rows = tuple(row for row in found.rows if row.position > after)
            if rows:
                yield Beyond(rows, found.position)
        raise TooFarBehindError


def is_too_far(feed: Feed, changes: Changes, after: int, end: int) -> bool:
    """Whether too much lies between two positions to be told.

    Or the first one is none of this log: of a database before its restore.
    """
    if after > end:
        return changes.is_ahead(after)
    most = feed.limits
    return end - after > most.positions or changes.is_older(after, most.hours)
