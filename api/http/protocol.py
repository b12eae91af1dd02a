"""HTTP/1.1 at the socket: what is none, and whoever is slow, is told a problem.

head       a request has begun, or the connection is new: all of its head must be there
           within `head_seconds`
body       each piece must come within `body_seconds` of the one before, and the last
           within `whole_seconds`; while we do not read, nobody is late
(neither)  a handler, a stream, or the rest between two requests takes the time it needs

What is refused here was never seen by a route.  It needs no thread: timers of the event
loop are all that a slow sender keeps.
"""

import asyncio
import re
import sys
from contextlib import suppress
from enum import Enum
from http import HTTPStatus
from typing import Any, Final, NamedTuple, cast, override
from uuid import uuid4

import h11
import msgspec
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from api.http.body import CUT
from api.http.counted import NOWHERE, Counts
from api.http.envelope import FOR_ALL, REQUEST_ID
from api.http.problems.catalogue import (
    HEAD_TOO_LARGE,
    INVALID_REQUEST,
    PROBLEMS,
    REQUEST_TIMEOUT,
)
from api.http.problems.problem import ProblemError
from api.http.problems.render import MEDIA_TYPE, told

HEAD_BYTES: Final = 16_384
"""The longest head that is taken: reliability 7.5."""
_END: Final = re.compile(rb"\n\r?\n")
_LINGER_SECONDS: Final = 2.0
"""Whoever is still sending would lose the answer if we hung up at once."""
_NO_HTTP: Final = ProblemError(INVALID_REQUEST, "this is no request of HTTP/1.1")
_LARGE: Final = ProblemError(
    HEAD_TOO_LARGE, f"request line and headers are more than {HEAD_BYTES:,} bytes"
)
_LATE: Final = ProblemError(
    REQUEST_TIMEOUT,
    "the request did not come whole in time; send it again on a new connection",
)


class Patience(NamedTuple):
    """How long a sender may take, in seconds."""

    head_seconds: float = 10.0
    body_seconds: float = 10.0
    whole_seconds: float = 300.0


class _Part(Enum):
    HEAD = "head"
    BODY = "body"


class Protocol(H11Protocol):
    """One connection."""

    def __init__(
        self,
        counts: Counts | None,
        patience: Patience,
        **settings: Any,  # noqa: ANN401 - the server's own
    ) -> None:
        """Take who is told of what is refused, and how long senders may take."""
        super().__init__(**settings)
        self._counts = counts
        self._patience = patience
        self._timer: asyncio.TimerHandle | None = None
        self._awaited: _Part | None = None
        self._body_until = 0.0
        self._is_over = False

    @override
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as the class above narrows it
        super().connection_made(transport)
        self._watch()

    @override
    def data_received(self, data: bytes) -> None:
        if self._is_over:
            return
        super().data_received(data)
        self._watch()

    @override
    def handle_events(self) -> None:
        # The parser would take a head of any length, if only it comes whole.
        if self.conn.their_state is h11.IDLE:
            head = self.conn.trailing_data[0]
            if len(head) > HEAD_BYTES and not _END.search(head, 0, HEAD_BYTES):
                self._refuse(_LARGE)
                return
        super().handle_events()

    @override
    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._await(None)
        super().connection_lost(exc)

    @override
    def send_400_response(self, msg: str) -> None:
        self._refuse(_why())

    def _watch(self) -> None:
        """Give the sender the time that what he sends now may take."""
        part = self._part()
        if part is _Part.BODY:
            now = self.loop.time()
            if self._awaited is not part:
                self._body_until = now + self._patience.whole_seconds
            left = self._body_until - now
            self._await(part, min(self._patience.body_seconds, left))
        elif part is not self._awaited:
            self._await(part, self._patience.head_seconds)

    def _part(self) -> _Part | None:
        if self._is_over or self.transport.is_closing():
            return None
        state = self.conn.their_state
        if state is h11.SEND_BODY:
            return _Part.BODY
        is_first = self._latest() is None
        if state is h11.IDLE and (is_first or self.conn.trailing_data[0]):
            return _Part.HEAD
        return None

    def _latest(self) -> RequestResponseCycle | None:
        """Return the request that came last; None: there was none."""
        return self.cycle

    def _await(self, part: _Part | None, seconds: float = 0.0) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._awaited = part
        if part is not None:
            self._timer = self.loop.call_later(max(seconds, 0.0), self._give_up)

    def _give_up(self) -> None:
        if self.flow.read_paused:  # it is we who do not read
            self._await(self._awaited, self._patience.body_seconds)
            return
        if self._awaited is _Part.HEAD and not self.conn.trailing_data[0]:
            self.transport.close()  # nobody has asked anything
            return
        self._refuse(_LATE)

    def _refuse(self, problem: ProblemError) -> None:
        """Answer, if no answer has begun, and take nothing more."""
        self._await(None)
        self._unset_keepalive_if_required()
        self._is_over = True
        if self.conn.our_state not in {h11.IDLE, h11.SEND_RESPONSE}:
            self.transport.close()
            return
        self.loop.call_later(_LINGER_SECONDS, self.transport.close)
        self._leave_the_handler(problem)
        self._answer(problem)
        with suppress(OSError):  # whoever sent it may have left
            self.transport.write_eof()
        self.flow.resume_reading()

    def _leave_the_handler(self, problem: ProblemError) -> None:
        """Let a handler that waits for the rest see that nobody is there.

        It counts its request itself.
        """
        latest = self._latest()
        if latest is not None and not latest.response_complete:
            cast("dict[str, Any]", latest.scope)["state"][CUT] = problem.code
            latest.disconnected = True
            latest.message_event.set()
            return
        if self._counts is None:
            return
        self._counts.began(NOWHERE)
        self._counts.answered(
            NOWHERE,
            NOWHERE,
            NOWHERE,
            status=PROBLEMS[problem.code].status,
            seconds=0.0,
            problem=problem.code,
        )

    def _answer(self, problem: ProblemError) -> None:
        request_id = uuid4().hex
        body = msgspec.json.encode(told(problem, request_id))
        kind = PROBLEMS[problem.code]
        headers = [
            (b"content-type", MEDIA_TYPE.encode()),
            (b"content-length", b"%d" % len(body)),
            (b"cache-control", b"no-store"),
            *FOR_ALL,
            (REQUEST_ID, request_id.encode()),
            (b"connection", b"close"),
        ]
        if kind.is_retryable:
            headers.append((b"retry-after", b"1"))
        reason = HTTPStatus(kind.status).phrase.encode()
        start = h11.Response(status_code=kind.status, headers=headers, reason=reason)
        answer = self.conn.send(start) or b""
        with suppress(h11.LocalProtocolError):  # to HEAD the head is all that is said
            answer += self.conn.send(h11.Data(data=body)) or b""
            self.conn.send(h11.EndOfMessage())
        self.transport.write(answer)


def _why() -> ProblemError:
    """Return what is wrong with what was just sent, by the parser's own hint."""
    error = sys.exception()
    is_large = (
        isinstance(error, h11.RemoteProtocolError)
        and error.error_status_hint == HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
    )
    return _LARGE if is_large else _NO_HTTP
