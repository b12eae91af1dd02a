"""One follower of the feed, at the edge of the event loop.

 follow ─► what lies before the feed's position, page by page ─► what the feed tells

A follower that is too slow, or asks for what lies too far back, is told to load anew.
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Final

from litestar.concurrency import sync_to_thread

from api.http.services import Feed
from projections.queries.changes import Beyond, Changes

_PAGE: Final = 500
_BEAT_SECONDS: Final = 15.0
_MOST_TOLD: Final = 64
"""Lots of the feed that wait for one follower."""


class TooFarBehindError(Exception):
    """What the follower has missed is too much to be told."""


@dataclass(slots=True)
class Follower:
    """Follows from a position, None: from now on."""

    feed: Feed
    changes: Changes
    after: int | None

    async def follow(self) -> AsyncIterator[Beyond | None]:
        """Yield what happens; None whenever nothing did for a while.

        The first lot is empty: whatever happens after it is told.  Ends when the
        process does.

        Raises:
            TooFarBehindError: see there.
        """
        loop = asyncio.get_running_loop()
        told: asyncio.Queue[Beyond | None] = asyncio.Queue()

        def listener(found: Beyond | None) -> None:
            loop.call_soon_threadsafe(told.put_nowait, found)

        begin = await sync_to_thread(self.feed.follow, listener)
        try:
            position = begin if self.after is None else self.after
            yield Beyond((), position)
            async for found in self._before(position, begin):
                yield found
                position = found.position
            async for each in self._from_now_on(told, max(position, begin)):
                yield each
        finally:
            self.feed.leave(listener)

    async def _before(self, after: int, end: int) -> AsyncIterator[Beyond]:
        if await sync_to_thread(is_too_far, self.feed, self.changes, after, end):
            raise TooFarBehindError
        while after < end:
            found = await sync_to_thread(self.changes.beyond, after, _PAGE)
            rows = tuple(row for row in found.rows if row.position <= end)
            after = found.position
            yield Beyond(rows, min(after, end))

    async def _from_now_on(
        self, told: "asyncio.Queue[Beyond | None]", after: int
    ) -> AsyncIterator[Beyond | None]:
        while True:
            if told.qsize() > _MOST_TOLD:
                raise TooFarBehindError
            try:
                found = await asyncio.wait_for(told.get(), _BEAT_SECONDS)
            except TimeoutError:
                yield None
                continue
            if found is None:
                return
            rows = tuple(row for row in found.rows if row.position > after)
            if rows:
                yield Beyond(rows, found.position)


def is_too_far(feed: Feed, changes: Changes, after: int, end: int) -> bool:
    """Whether too much lies between two positions to be told."""
    most = feed.limits
    return end - after > most.positions or changes.is_older(after, most.hours)
