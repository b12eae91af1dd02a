"""The panel's answers: envelope, domain errors, validation errors, framework errors."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from infrastructure.simulators.panel.users.timestamps import format_timestamp

JSON_TYPE: Final = "application/json; charset=utf-8"

# Code -> status and text of the panel's catalogue (requirements.md 8.3). The texts of
# A018, A019, A025, A029, A030, A039 and A063 were observed.
_CATALOGUE: Final = {
    "A001": (500, "Server error"),
    "A018": (500, "Failed to create user"),
    "A019": (400, "User username already exists"),
    "A020": (400, "User short UUID already exists"),
    "A024": (500, "Failed to get users"),
    "A025": (404, "User not found"),
    "A026": (500, "Failed to get user"),
    "A028": (500, "Failed to disable user"),
    "A029": (400, "User already disabled"),
    "A030": (400, "User already enabled"),
    "A031": (500, "Failed to enable user"),
    "A037": (500, "Failed to delete user"),
    "A039": (500, "Update user error"),
    "A056": (500, "Failed to reset traffic"),
    "A063": (404, "User with specified params not found"),
    "A098": (400, "User HWID device already exists"),
    "A204": (404, "HWID device not found"),
}


@dataclass(frozen=True, slots=True)
class Answer:
    """One HTTP answer, not yet on the wire."""

    status: int
    body: bytes = b""
    content_type: str = JSON_TYPE
    headers: tuple[tuple[str, str], ...] = ()
    error_code: str | None = None

    @property
    def is_refusal(self) -> bool:
        """Return whether it says no."""
        return self.status >= HTTPStatus.BAD_REQUEST

    @property
    def etag(self) -> str:
        """Return the weak tag that the panel gives every JSON answer."""
        digest = hashlib.sha1(self.body, usedforsecurity=False).hexdigest()
        return f'W/"{len(self.body):x}-{digest}"'


def as_json(status: int, document: object, *, error_code: str | None = None) -> Answer:
    """Return an answer with this document."""
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    return Answer(status, text.encode(errors="replace"), error_code=error_code)


def success(response: object, status: int = HTTPStatus.OK) -> Answer:
    """Return the document in the envelope of every success."""
    return as_json(status, {"response": response})


def domain_error(code: str, path: str, now: int) -> Answer:
    """Return the error of this code; `path` includes the query string."""
    status, message = _CATALOGUE[code]
    document = {
        "timestamp": format_timestamp(now),
        "path": path,
        "message": message,
        "errorCode": code,
    }
    return as_json(status, document, error_code=code)


def validation_error(issues: Sequence[object]) -> Answer:
    """Return the 400 that lists what validation refused; it has no errorCode."""
    document = {"statusCode": 400, "message": "Validation failed", "errors": issues}
    return as_json(HTTPStatus.BAD_REQUEST, document)


def bad_request(message: str) -> Answer:
    """Return the framework's 400, as for malformed JSON."""
    document = {"message": message, "error": "Bad Request", "statusCode": 400}
    return as_json(HTTPStatus.BAD_REQUEST, document)


def unknown_route(method: str, target: str) -> Answer:
    """Return the framework's 404, which has no errorCode."""
    message = f"Cannot {method} {target}"
    document = {"message": message, "error": "Not Found", "statusCode": 404}
    return as_json(HTTPStatus.NOT_FOUND, document)


def unauthorized() -> Answer:
    """Return the 401 of a token that is none."""
    return as_json(
        HTTPStatus.UNAUTHORIZED, {"message": "Unauthorized", "statusCode": 401}
    )


def forbidden() -> Answer:
    """Return the 403 of a token that is unknown, deleted or without the scope."""
    return as_json(
        HTTPStatus.FORBIDDEN,
        {"message": "Forbidden resource", "error": "Forbidden", "statusCode": 403},
    )


def internal_error() -> Answer:
    """Return the framework's 500, which has no errorCode."""
    return as_json(
        HTTPStatus.INTERNAL_SERVER_ERROR,
        {"statusCode": 500, "message": "Internal server error"},
    )
