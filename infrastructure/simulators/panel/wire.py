"""HTTP/1.1 as bytes: requests parsed, answers encoded, and how a connection ends."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from email.utils import formatdate
from http import HTTPStatus
from typing import Final, Literal

from infrastructure.simulators.panel.users.answers import JSON_TYPE, Answer

KEEP_ALIVE_S: Final = 5
"""What an answer promises; the panel closes an idle connection a second later."""

_REASONS: Final = {status.value: status.phrase for status in HTTPStatus}

type Ending = Literal["keep", "close", "reset"]


class MalformedError(Exception):
    """The bytes are no HTTP request."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it came."""

    method: str
    target: str
    """The path as sent, with its query string."""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    """Names in lower case; of a repeated header the last one."""
    body: bytes = b""

    @property
    def path(self) -> str:
        """Return the path without the query string."""
        return self.target.partition("?")[0]


@dataclass(frozen=True, slots=True)
class Delivery:
    """What becomes of a request on the wire."""

    answer: Answer | None
    ending: Ending = "keep"
    cut: bool = False
    """Only the first half of the announced body is sent."""

    @property
    def whole(self) -> bool:
        """Return whether the client gets a complete HTTP message."""
        return self.answer is not None and not self.cut


CLOSED: Final = Delivery(None, "close")
RESET: Final = Delivery(None, "reset")


def parse_head(head: bytes) -> Request:
    """Return the request without its body.

    Raises:
        MalformedError: the request line or a header line is none.
    """
    first, *lines = head.decode("latin-1").split("\r\n")
    words = first.split(" ")
    if len(words) != len(("method", "target", "version")):
        raise MalformedError
    method, target, version = words
    if not version.startswith("HTTP/1.") or not target.startswith("/"):
        raise MalformedError
    headers: dict[str, str] = {"connection": "close"} if version == "HTTP/1.0" else {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not name.strip():
            raise MalformedError
        headers[name.lower()] = value.strip()
    return Request(method.upper(), target, headers)


def body_length(request: Request) -> int:
    """Return the announced length.

    Raises:
        MalformedError: no number, or a chunked body, which no client of ours sends.
    """
    text = request.headers.get("content-length", "0")
    if not text.isdecimal() or "transfer-encoding" in request.headers:
        raise MalformedError
    return int(text)


def encode(request: Request, answer: Answer, *, keep: bool) -> bytes:
    """Return the whole HTTP message of an answer to this request."""
    if request.method in ("GET", "HEAD") and answer.content_type == JSON_TYPE:
        known = request.headers.get("if-none-match")
        if known is not None and known == answer.etag:
            answer = Answer(HTTPStatus.NOT_MODIFIED)
    lines = [
        f"HTTP/1.1 {int(answer.status)} {_REASONS.get(answer.status, 'Unknown')}",
        f"Date: {formatdate(usegmt=True)}",
        "Connection: keep-alive" if keep else "Connection: close",
    ]
    if keep:
        lines.append(f"Keep-Alive: timeout={KEEP_ALIVE_S}")
    if answer.body:
        lines.append(f"Content-Type: {answer.content_type}")
        if answer.content_type == JSON_TYPE:
            lines.append(f"ETag: {answer.etag}")
    if answer.status not in (HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED):
        lines.append(f"Content-Length: {len(answer.body)}")
    lines.extend(f"{name}: {value}" for name, value in answer.headers)
    head = "\r\n".join((*lines, "\r\n")).encode("latin-1")
    return head if request.method == "HEAD" else head + answer.body
