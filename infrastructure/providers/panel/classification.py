"""What an answer of the panel means; pure, one branch for each observed kind.

Nothing that the panel wrote leaves this module but the status, an error code of
the form `A025`, and the response of a success, which is decoded elsewhere.
"""

import re
from datetime import datetime
from enum import Enum
from http import HTTPStatus
from typing import Final, cast

import msgspec

from application.ports import Misconfigured, Rejected, Unavailable, Unknown
from infrastructure.providers.answer import Answer, NoAnswer
from infrastructure.providers.panel.answer import Call
from infrastructure.providers.retry_after import moment, retry_after_seconds

CREDENTIALS: Final = "panel_credentials"
CONFIGURATION: Final = "panel_configuration"
UNAVAILABLE: Final = "remnawave_unavailable"

LONGEST_RETRY_AFTER_SECONDS: Final = 1280.0
"""A proxy that asks for more is asked again after this much: the longest pause."""

FORWARDED_HINT: Final = (
    "the panel closes without an answer unless X-Forwarded-For and "
    "X-Forwarded-Proto: https reach it"
)

_TRANSIENT: Final = frozenset(
    {
        HTTPStatus.REQUEST_TIMEOUT,
        HTTPStatus.TOO_EARLY,
        HTTPStatus.TOO_MANY_REQUESTS,
    }
)
_TOLD_BY_BODY: Final = frozenset({HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND})
"""Statuses that mean one thing or another by what their body says."""

_USER_MISSING: Final = frozenset({"A025", "A063"})
_ALREADY_SO: Final = frozenset({"A029", "A030"})
_SQUADS_IN_DOUBT: Final = frozenset({"A018", "A039", "A118", "A123"})
"""What panels answer to an unknown squad, and to other trouble as well."""

_LAST_STATUS: Final = 599

_ERROR_CODE: Final = re.compile(r"[A-Z]\d{3}", re.ASCII)


class Fine(msgspec.Struct, frozen=True):
    """The panel did it; `response` is what the success envelope holds."""

    response: msgspec.Raw


class Said(Enum):
    """What the panel refused, where the procedure goes on."""

    USER_MISSING = "user missing"
    USERNAME_TAKEN = "username taken"
    ALREADY_SO = "already enabled or disabled"
    EXPIRY_PAST = "expiry in the past"


class SquadsDoubted(msgspec.Struct, frozen=True):
    """Perhaps a squad is unknown; if all are known, `otherwise` is the meaning."""

    otherwise: Rejected | Unavailable | Unknown


type Refusal = Rejected | Unavailable | Unknown | Misconfigured
type Meaning = Fine | Said | SquadsDoubted | Refusal


def classify(call: Call, answer: Answer | NoAnswer, now: datetime) -> Meaning:
    """Return what the answer means; `now` is when it came, if it does not say."""
    if isinstance(answer, NoAnswer):
        return _silence(call, answer)
    status = answer.status
    is_success = HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES
    if answer.is_oversized and (is_success or status in _TOLD_BY_BODY):
        unread = NoAnswer(has_sent=True, reason=f"{status} with more than 1 MiB")
        return _silence(call, unread)
    if is_success:
        return _success(call, answer)
    error = _Error(answer)
    detail = f"{call.name}: {status} {error.code or 'without errorCode'}"
    if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        return Misconfigured(CREDENTIALS, detail)
    if call.has_squads and error.code in _SQUADS_IN_DOUBT:
        return SquadsDoubted(_failure(call, answer, detail, now))
    if status == HTTPStatus.NOT_FOUND:
        return _not_found(error.code, detail)
    if status == HTTPStatus.BAD_REQUEST:
        return _bad_request(error, detail)
    if not HTTPStatus.BAD_REQUEST <= status <= _LAST_STATUS:
        return Misconfigured(CONFIGURATION, detail)
    return _failure(call, answer, detail, now)


def _silence(call: Call, answer: NoAnswer) -> Unavailable | Unknown:
    detail = f"{call.name}: {answer.reason}"
    if call.writes and answer.has_sent:
        return Unknown(UNAVAILABLE, detail)
    return Unavailable(UNAVAILABLE, detail)


def _success(call: Call, answer: Answer) -> Meaning:
    try:
        return msgspec.json.decode(answer.body, type=Fine)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        detail = f'{call.name}: {answer.status} without {{"response": …}}'
        return Misconfigured(CONFIGURATION, detail)


def _not_found(code: str | None, detail: str) -> Meaning:
    if code in _USER_MISSING:
        return Said.USER_MISSING
    if code is None:
        # An unknown route: another version, or not the panel's address.
        return Misconfigured(CONFIGURATION, detail)
    return Rejected(_http_code(HTTPStatus.NOT_FOUND), detail)


def _bad_request(error: "_Error", detail: str) -> Meaning:
    if error.code == "A019":
        return Said.USERNAME_TAKEN
    if error.code in _ALREADY_SO:
        return Said.ALREADY_SO
    if error.says_expiry_past():
        return Said.EXPIRY_PAST
    return Rejected(_http_code(HTTPStatus.BAD_REQUEST), detail)


def _failure(
    call: Call, answer: Answer, detail: str, now: datetime
) -> Rejected | Unavailable | Unknown:
    code = _http_code(answer.status)
    wait = retry_after_seconds(
        answer.retry_after, moment(answer.date) or now, LONGEST_RETRY_AFTER_SECONDS
    )
    if answer.status in _TRANSIENT:
        return Unavailable(code, detail, wait)
    if answer.status < HTTPStatus.INTERNAL_SERVER_ERROR:
        return Rejected(code, detail)
    if call.writes:
        # A proxy's 502 may hide a success, and so may an error behind the write.
        return Unknown(code, detail, wait)
    return Unavailable(code, detail, wait)


def _http_code(status: int) -> str:
    return f"remnawave_http_{int(status)}"


class _Error:
    """The body of an error, as far as it can be read."""

    def __init__(self, answer: Answer) -> None:
        self._document: dict[str, object] = {}
        try:
            document: object = msgspec.json.decode(answer.body)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            document = None
        if isinstance(document, dict):
            self._document = cast("dict[str, object]", document)

    @property
    def code(self) -> str | None:
        code = self._document.get("errorCode")
        known = isinstance(code, str) and _ERROR_CODE.fullmatch(code) is not None
        return code if isinstance(code, str) and known else None

    def says_expiry_past(self) -> bool:
        """Whether validation refused `expireAt` for being in the past."""
        errors = self._document.get("errors")
        if not isinstance(errors, list):
            return False
        return any(_is_expiry_past(issue) for issue in cast("list[object]", errors))


def _is_expiry_past(issue: object) -> bool:
    if not isinstance(issue, dict):
        return False
    members = cast("dict[str, object]", issue)
    path, message = members.get("path"), members.get("message")
    return (
        isinstance(path, list)
        and "expireAt" in path
        and isinstance(message, str)
        and "cannot be in the past" in message
    )
