"""Around every request, whatever becomes of it: its id, HEAD, and headers for all.

Outside the router, so that what is not found or not allowed has them as well.
"""

import re
from dataclasses import dataclass
from typing import Any, Final, cast
from uuid import uuid4

from litestar.enums import HttpMethod, ScopeType
from litestar.types import ASGIApp, Message, Receive, Scope, Send

from api.http.authentication.rates import HEADERS

REQUEST_ID: Final = b"x-request-id"
_ID: Final = re.compile(rb"[A-Za-z0-9._-]{8,64}")
FOR_ALL: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
)


@dataclass(frozen=True, slots=True)
class Envelope:
    """An ASGI application around the one that answers."""

    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one connection."""
        if scope["type"] != ScopeType.HTTP:
            await self.app(scope, receive, send)
            return
        request_id = _request_id(scope)
        cast("dict[str, Any]", scope).setdefault("state", {})
        scope["state"]["request_id"] = request_id.decode()
        is_head, is_told = scope["method"] == "HEAD", False
        if is_head:
            scope["method"] = HttpMethod.GET

        async def answer(message: Message) -> None:
            nonlocal is_told
            if message["type"] == "http.response.start":
                headers = [*message.get("headers", ()), *FOR_ALL]
                headers += scope["state"].get(HEADERS, ())
                message["headers"] = [*headers, (REQUEST_ID, request_id)]
            elif is_head and message["type"] == "http.response.body":
                if is_told:
                    return
                # All of it, however long the body would go on: of a stream too.
                message["body"], message["more_body"] = b"", False
                is_told = True
            await send(message)

        await self.app(scope, receive, answer)


def _request_id(scope: Scope) -> bytes:
    for name, value in scope["headers"]:
        if name == REQUEST_ID and _ID.fullmatch(value):
            return value
    return uuid4().hex.encode()
