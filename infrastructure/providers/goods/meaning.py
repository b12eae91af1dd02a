"""What every provider means by no answer, or by a status; pure."""

import re
from datetime import datetime
from http import HTTPStatus
from typing import Final

import msgspec

from application.goods.port import Unavailable, Unknown, Unsent
from domain.text import redact
from infrastructure.providers.answer import Answer, NoAnswer, Stopped
from infrastructure.providers.retry_after import moment, retry_after_seconds

UNREACHABLE: Final = "gateway_unreachable"
ADAPTER_ERROR: Final = "adapter_error"
HALTED: Final = "no_time_left"

LONGEST_RETRY_AFTER_SECONDS: Final = 3600.0
"""A provider that asks for more is asked again after this: the longest backoff."""

_REFERENCE: Final = re.compile(r"[!-~]{1,255}")
_CREDENTIALS: Final = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN})


def silent(answer: NoAnswer | Stopped) -> Unavailable | Unknown | Unsent:
    """Return what it means that nothing came back.

    Only what has not sent a byte has definitely not bought.
    """
    if isinstance(answer, Stopped):
        return Unsent(HALTED)
    if answer.has_sent:
        return Unknown(UNREACHABLE)
    return Unavailable("provider_unavailable", UNREACHABLE)


def turned_away(answer: Answer, now: datetime) -> Unavailable | None:
    """Return what 401, 403 and 429 mean: nobody has looked at the request."""
    if answer.status in _CREDENTIALS:
        return Unavailable("provider_unavailable", http_code(answer.status))
    if answer.status != HTTPStatus.TOO_MANY_REQUESTS:
        return None
    wait = retry_after_seconds(
        answer.retry_after, moment(answer.date) or now, LONGEST_RETRY_AFTER_SECONDS
    )
    return Unavailable("retryable", http_code(answer.status), wait)


def is_success(answer: Answer) -> bool:
    """Whether the status is one of 2xx."""
    return HTTPStatus.OK <= answer.status < HTTPStatus.MULTIPLE_CHOICES


def is_refusal(answer: Answer) -> bool:
    """Whether the status is one of 4xx."""
    return HTTPStatus.BAD_REQUEST <= answer.status < HTTPStatus.INTERNAL_SERVER_ERROR


def http_code(status: int) -> str:
    """Return the code of a status."""
    return f"http_{int(status)}"


def named(reference: str | None) -> str | None:
    """Return a provider's name of a purchase; None: none that can be stored and shown.

    A purchase is found by its key, so nothing depends on it.
    """
    if reference is None or _REFERENCE.fullmatch(reference) is None:
        return None
    return reference if redact(reference) == reference else None


def decoded[T](answer: Answer, form: type[T]) -> T | None:
    """Return the body in its form; None: it has another one, or is too long."""
    if answer.is_oversized:
        return None
    try:
        return msgspec.json.decode(answer.body, type=form)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
