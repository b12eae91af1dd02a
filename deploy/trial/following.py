"""Whoever follows the API's stream, and comes back with the last id that was seen."""

import contextlib
import json
import threading
from collections.abc import Collection, Iterator
from types import TracebackType
from typing import Any, Final, Self

import httpx

from deploy.trial.asking import Caller
from deploy.trial.world import TrialError

_SILENCE_SECONDS: Final = 30.0
"""Twice as long as the stream is ever silent."""
_PAUSE_SECONDS: Final = 0.5
_FULFILLED: Final = "order.fulfilled"
_RESET: Final = "reset"


class Follower:
    """Follows the orders until it is left; `fulfilled` are those told so far."""

    def __init__(self, shop: Caller) -> None:
        """Take whose stream it is."""
        self.fulfilled: set[str] = set()
        self.resumed = 0
        self.was_reset = False
        self._shop = shop
        self._last = ""
        self._opened, self._left = threading.Event(), threading.Event()
        self._news = threading.Condition()
        self._thread = threading.Thread(target=self._follow, daemon=True)

    def __enter__(self) -> Self:
        """Begin; whatever happens from now on is told."""
        self._thread.start()
        self._opened.wait(_SILENCE_SECONDS)
        return self

    def __exit__(
        self,
        error: type[BaseException] | None,
        value: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        """Leave; the thread ends with the stream's next words."""
        self._left.set()

    def wait_for(self, orders: Collection[str], patience_seconds: float) -> None:
        """Return when all of them are told as fulfilled.

        Raises:
            TrialError: they are not in time.
        """
        with self._news:
            self._news.wait_for(
                lambda: self.fulfilled.issuperset(orders), patience_seconds
            )
        if missing := sorted(set(orders) - self.fulfilled):
            msg = f"not told as fulfilled by the stream: {', '.join(missing)}"
            raise TrialError(msg)

    def _follow(self) -> None:
        while not self._left.is_set():
            with contextlib.suppress(httpx.HTTPError):
                self._take()
            self._left.wait(_PAUSE_SECONDS)

    def _take(self) -> None:
        headers = dict(self._shop.headers)
        if self._last:
            headers["Last-Event-ID"] = self._last
        with httpx.stream(
            "GET",
            f"{self._shop.address}/v1/stream?topics=orders",
            headers=headers,
            timeout=_SILENCE_SECONDS,
        ) as response:
            response.raise_for_status()
            self.resumed += bool(self._last)
            for name, data in self._told(response.iter_lines()):
                if name == _FULFILLED:
                    with self._news:
                        self.fulfilled.add(data["id"])
                        self._news.notify_all()
                self.was_reset |= name == _RESET
                if self._left.is_set():
                    return

    def _told(self, lines: Iterator[str]) -> Iterator[tuple[str, Any]]:
        """Yield events, each with its data; keep the last id once it is told."""
        event, id_ = "", ""
        for line in lines:
            name, _, value = line.partition(": ")
            match name:
                case "id":
                    id_ = value
                case "event":
                    event = value
                case "data":
                    yield event, json.loads(value)
                case "" if id_:
                    self._last = id_
                    self._opened.set()
                case _:
                    pass
