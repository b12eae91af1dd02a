"""What each fault makes of a request: refused before the panel, or spoiled after it."""

from dataclasses import replace
from http import HTTPStatus
from typing import Final

from infrastructure.simulators.panel.faults import FaultRule
from infrastructure.simulators.panel.routes import find_route
from infrastructure.simulators.panel.users.answers import (
    JSON_TYPE,
    Answer,
    as_json,
    domain_error,
    forbidden,
    unauthorized,
)
from infrastructure.simulators.panel.wire import CLOSED, RESET, Delivery, Request

BIG_BODY_BYTES: Final = 1024 * 1024 + 1
"""Just more than the 1 MiB that a careful client reads."""

_HTML: Final = "text/html"


def refused(fault: FaultRule, request: Request, now: int) -> Delivery | None:
    """Return the end of a request that never reaches the panel, None if it does."""
    match fault.name:
        case "reset_before":
            return RESET
        case "close_before":
            return CLOSED
        case "error_before":
            return Delivery(_proxy_page(fault.status))
        case "rate_limited":
            return Delivery(_proxy_page(HTTPStatus.TOO_MANY_REQUESTS))
        case "rate_limited_retry_after":
            answer = _proxy_page(HTTPStatus.TOO_MANY_REQUESTS)
            headers = (("Retry-After", str(fault.retry_after)),)
            return Delivery(replace(answer, headers=headers))
        case _:
            refusal = _refusing_answer(fault, request, now)
            return None if refusal is None else Delivery(refusal)


def _refusing_answer(fault: FaultRule, request: Request, now: int) -> Answer | None:
    match fault.name:
        case "unauthorized":
            return unauthorized()
        case "forbidden":
            return forbidden()
        case "not_json":
            return _proxy_page(HTTPStatus.OK)
        case "redirect":
            where = f"https://login.panel.invalid{request.target}"
            return Answer(HTTPStatus.FOUND, headers=(("Location", where),))
        case "database_error":
            found = find_route(request.method, request.path)
            code = found.route.failure_code if found else None
            return domain_error(code, request.target, now) if code else None
        case _:
            return None


def spoiled(fault: FaultRule | None, answer: Answer | None) -> Delivery:
    """Return how the panel's own answer reaches the client."""
    if answer is None:
        return CLOSED
    match fault.name if fault else None:
        case "reset_after":
            return RESET
        case "close_after":
            return CLOSED
        case "error_after":
            return Delivery(_proxy_page(fault.status if fault else 0))
        case "truncated_json":
            full = _with_body(answer)
            return Delivery(replace(full, body=full.body[: len(full.body) // 2]))
        case "cut_body":
            return Delivery(_with_body(answer), "close", cut=True)
        case "big_body":
            full = _with_body(answer)
            padding = b',"padding":"%s"}' % (b"x" * BIG_BODY_BYTES)
            return Delivery(replace(full, body=full.body[:-1] + padding))
        case _:
            return Delivery(answer)


def _with_body(answer: Answer) -> Answer:
    if answer.body and answer.content_type == JSON_TYPE:
        return answer
    return as_json(HTTPStatus.OK, {"response": {}})


def _proxy_page(status: int) -> Answer:
    body = f"<html><body><h1>{int(status)}</h1><p>nginx</p></body></html>\r\n"
    return Answer(status, body.encode(), _HTML)
