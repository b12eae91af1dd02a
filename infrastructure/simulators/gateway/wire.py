"""Requests as they came, and replies as bytes."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final, cast

_JSON: Final = "application/json"
_REASONS: Final = {status.value: status.phrase for status in HTTPStatus}


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it came."""

    method: str
    path: str
    """Without the query string, which no route has."""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    """Names in lower case."""
    body: bytes = b""

    def document(self) -> Mapping[str, Any]:
        """Return the body's JSON object.

        Raises:
            ValueError: it is none.
        """
        document: object = json.loads(self.body or b"{}")
        if not isinstance(document, dict):
            msg = "expected a JSON object"
            raise ValueError(msg)  # noqa: TRY004 - the value of a client's text
        return cast("Mapping[str, Any]", document)


@dataclass(frozen=True, slots=True)
class Reply:
    """One HTTP answer, not yet on the wire."""

    status: int
    body: bytes
    told: str
    """What it says, in the ledger's words."""
    content_type: str = _JSON
    headers: tuple[tuple[str, str], ...] = ()

    def encoded(self) -> bytes:
        """Return the whole HTTP message; the connection stays open."""
        lines = [
            f"HTTP/1.1 {self.status} {_REASONS.get(self.status, 'Unknown')}",
            f"Content-Type: {self.content_type}",
            f"Content-Length: {len(self.body)}",
            *(f"{name}: {value}" for name, value in self.headers),
        ]
        return "\r\n".join((*lines, "\r\n")).encode("latin-1") + self.body


def reply(status: int, document: Mapping[str, object], told: str) -> Reply:
    """Return an answer with this document."""
    return Reply(status, json.dumps(document).encode(), told)
