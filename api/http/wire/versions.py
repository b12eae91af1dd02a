"""Versions on the wire: an ETag says of what, and at which version it was read."""

import re
from typing import Final

from api.http.call import Call
from api.http.problems.catalogue import INVALID_REQUEST
from api.http.problems.problem import ProblemError, misfit
from api.http.route import ROUTE, Declaration, Match

_HEADER: Final = "If-Match"
_ANY: Final = "*"
_REQUIRED: Final = "precondition_required"
_FAILED: Final = "precondition_failed"
_TAG: Final = re.compile(r'"([^"\x00-\x20\x7f]+):([0-9]{1,9})"')


def etag(what: str, version: int) -> str:
    """Return the strong entity tag of a thing at a version: `"queue_bulk:3"`."""
    return f'"{what}:{version}"'


def expected(call: Call, what: str) -> int | None:
    """Return at which version a thing was read by whoever changes it; None: at any.

    Raises:
        ProblemError: the route wants to be told and is not, what it is told is none,
            or something else was read.
    """
    given = call.header(_HEADER)
    if given is None:
        declared: Declaration = call.request.scope["route_handler"].opt[ROUTE]
        if declared.match is Match.REQUIRED:
            detail = f"send {_HEADER} with the ETag of what you have read"
            raise ProblemError(_REQUIRED, detail)
        return None
    if given.strip() == _ANY:
        return None
    tag = _TAG.fullmatch(given.strip())
    if tag is None:
        rule = "one strong ETag, as an answer told it, or *"
        raise misfit(_HEADER, rule, INVALID_REQUEST)
    if tag[1] != what:
        detail = f"{_HEADER} is not an ETag of {what}; read it again"
        raise ProblemError(_FAILED, detail)
    return int(tag[2])
