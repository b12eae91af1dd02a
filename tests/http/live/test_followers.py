"""Followers that come and go at bad moments, or take nothing, leave nothing behind."""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import cast, override
from uuid import UUID

import pytest

from api.http.live.following import (
    Follower,
    Listener,
    TooFarBehindError,
    followed,
)
from infrastructure.live.feed import Feed, FeedLimits
from projections.queries.changes import Beyond, ChangeRow, Changes


def row(position: int) -> ChangeRow:
    return ChangeRow(
        position=position,
        tenant_id="default",
        stream_id=UUID(int=position),
        version=1,
        type="job.enqueued",
        recorded_at=datetime(2026, 1, 1, tzinfo=UTC),
    )


@dataclass
class Log:
    """Stands for the log: whoever asks where it ends waits until that is told."""

    asked: threading.Event = field(default_factory=threading.Event)
    told: threading.Event = field(default_factory=threading.Event)
    last: int = 7

    def end(self) -> int:
        self.asked.set()
        assert self.told.wait(30)
        return self.last

    def beyond(self, after: int, limit: int) -> Beyond:
        del limit
        return Beyond((), max(after, self.last))

    def is_older(self, after: int, hours: int) -> bool:
        del after, hours
        return False

    def is_ahead(self, after: int) -> bool:
        return after > self.last


class ToldFeed:
    """Tells what the test tells it."""

    def __init__(self) -> None:
        self.limits = FeedLimits()
        self.listeners: list[Callable[[Beyond | None], None]] = []

    @property
    def n_followers(self) -> int:
        return len(self.listeners)

    def follow(self, listener: Callable[[Beyond | None], None]) -> int:
        self.listeners.append(listener)
        return 7

    def leave(self, listener: Callable[[Beyond | None], None]) -> None:
        self.listeners.remove(listener)

    def close(self) -> None:
        """Nothing of it is open."""

    def tell(self, *positions: int) -> None:
        for each in positions:
            for listener in self.listeners:
                listener(Beyond((row(each),), each))


def run[T](scene: Callable[[], Awaitable[T]]) -> T:
    async def within() -> T:
        async with asyncio.timeout(30):
            return await scene()

    return asyncio.run(within())


class Watched(Feed):
    """Says when somebody has joined, and when somebody has left."""

    def __init__(self, log: Log) -> None:
        super().__init__(cast("Changes", log))
        self.joined, self.left = threading.Event(), threading.Event()

    @override
    def follow(self, listener: Listener) -> int:
        try:
            return super().follow(listener)
        finally:
            self.joined.set()

    @override
    def leave(self, listener: Listener) -> None:
        super().leave(listener)
        self.left.set()


def test_whoever_is_cancelled_while_he_joins_has_left_when_he_has_joined() -> None:
    log = Log()
    feed = Watched(log)

    async def join() -> None:
        async with followed(feed, lambda _: None):
            pytest.fail("nobody has told him yet where the log ends")

    async def scene() -> bool:
        joining = asyncio.create_task(join())
        await asyncio.to_thread(log.asked.wait, 30)
        joining.cancel()
        with pytest.raises(asyncio.CancelledError):
            await joining
        log.told.set()
        assert await asyncio.to_thread(feed.joined.wait, 30)
        return await asyncio.to_thread(feed.left.wait, 10)

    assert run(scene)
    assert feed.n_followers == 0
    feed.close()


def followed_from(feed: ToldFeed, after: int | None) -> AsyncIterator[Beyond | None]:
    return Follower(feed, cast("Changes", Log()), after).follow()


def test_a_reader_that_takes_nothing_loses_its_place_and_keeps_nothing() -> None:
    feed = ToldFeed()

    taken: list[Beyond] = []

    async def take_all(stream: AsyncIterator[Beyond | None]) -> None:
        async for each in stream:
            assert each is not None
            taken.append(each)

    async def scene() -> None:
        stream = followed_from(feed, None)
        assert await anext(stream) == Beyond((), 7)
        feed.tell(8)
        first = await anext(stream)
        assert first is not None
        assert first.position == 8
        feed.tell(*range(9, 1_000))
        with pytest.raises(TooFarBehindError):
            await take_all(stream)

    run(scene)

    assert len(taken) < 100
    assert feed.n_followers == 0


def test_a_position_that_the_log_has_not_reached_is_none_of_its_own() -> None:
    """As after a restore: whoever waited for it would never hear anything."""
    feed = ToldFeed()

    async def scene() -> None:
        stream = followed_from(feed, 8)
        assert await anext(stream) == Beyond((), 8)
        with pytest.raises(TooFarBehindError):
            await anext(stream)

    run(scene)


def test_whoever_catches_up_rests_while_a_writer_holds_the_log_back() -> None:
    feed, log, rests = ToldFeed(), Log(last=3), list[float]()

    async def rest(seconds: float) -> None:
        rests.append(seconds)
        log.last = 7  # the writer has ended

    async def scene() -> Beyond | None:
        stream = Follower(feed, cast("Changes", log), 5, rest).follow()
        await anext(stream)
        return await anext(stream)

    assert run(scene) == Beyond((), 7)
    assert len(rests) == 1
