"""Counts requests by the template of their route: never by their path."""

import time
from dataclasses import dataclass
from typing import Any, Final, Protocol, cast

from litestar.enums import ScopeType
from litestar.types import ASGIApp, Message, Receive, Scope, Send

from api.http.surface import Surface

NOWHERE: Final = "none"
_KEY: Final = b"idempotency-key"
_REPLAYED: Final = b"idempotency-replayed"
_KEYED: Final = {
    "idempotency_key_reused": "mismatch",
    "idempotency_in_progress": "in_progress",
}
_LEAST_REFUSED: Final = 400
_UNAUTHORIZED: Final = 401
_FORBIDDEN: Final = 403
_FAILED: Final = 500
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"})


class Counts(Protocol):
    """Who is told of requests."""

    def began(self, surface: str) -> None:
        """Count who is here."""
        ...

    def answered(  # noqa: PLR0913 - all labels of one answer
        self,
        surface: str,
        route: str,
        method: str,
        *,
        status: int,
        seconds: float,
        problem: str | None,
    ) -> None:
        """Count an answer, and who has left with it."""
        ...

    def keyed(self, result: str) -> None:
        """Count the use of an idempotency key."""
        ...

    def refused(self, surface: str, cause: str, *, is_known: bool) -> None:
        """Count who was not let in."""
        ...

    def follows(self, n: int) -> None:
        """Count who follows a stream from now on, or has left (`n` is -1)."""
        ...

    def dropped(self) -> None:
        """Count a stream that was ended because too much was missed."""
        ...


@dataclass(frozen=True, slots=True)
class Counted:
    """An ASGI application around the one that answers."""

    app: ASGIApp
    counts: Counts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one connection, and count it."""
        if scope["type"] != ScopeType.HTTP:
            await self.app(scope, receive, send)
            return
        began_at = time.monotonic()
        surface = _surface(scope["path"])
        method = scope["method"] if scope["method"] in _METHODS else NOWHERE
        told = _Told()

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                told.status = message["status"]
                told.is_replayed = any(
                    name == _REPLAYED for name, _ in message.get("headers", ())
                )
            await send(message)

        self.counts.began(surface)
        try:
            await self.app(scope, receive, answer)
        finally:
            seconds = time.monotonic() - began_at
            route = cast("dict[str, Any]", scope).get("path_template") or NOWHERE
            problem = _problem(scope)
            self.counts.answered(
                surface,
                route,
                method,
                status=told.status,
                seconds=seconds,
                problem=problem,
            )
            self._tell(scope, surface, told, problem)

    def _tell(
        self, scope: Scope, surface: str, told: "_Told", problem: str | None
    ) -> None:
        if told.status == _UNAUTHORIZED:
            self.counts.refused(surface, problem or NOWHERE, is_known=False)
        elif told.status == _FORBIDDEN:
            self.counts.refused(surface, problem or NOWHERE, is_known=True)
        if any(name == _KEY for name, _ in scope["headers"]):
            result = _KEYED.get(problem or "")
            if told.is_replayed:
                result = "replayed"
            elif result is None and told.status < _LEAST_REFUSED:
                result = "new"
            if result is not None:
                self.counts.keyed(result)


@dataclass(slots=True)
class _Told:
    status: int = _FAILED
    """Nothing was sent: whoever asked had left, or it is a fault of ours."""
    is_replayed: bool = False


def _surface(path: str) -> str:
    """Return the name of the surface that a path is of, by its prefix alone."""
    for surface in (Surface.ADMIN, Surface.PANEL, Surface.HOOKS, Surface.SHOPS):
        if path == surface or path.startswith(f"{surface}/"):
            return surface.name.lower()
    return NOWHERE


def _problem(scope: Scope) -> str | None:
    state = cast("dict[str, dict[str, str | None]]", scope).get("state")
    return None if state is None else state.get("problem")
