"""`If-Match`: which version of a thing was looked at."""

import re
from typing import Any, Final
from uuid import UUID

from api.http.call import Call
from api.http.problems.catalogue import (
    INVALID_REQUEST,
    PRECONDITION_FAILED,
    PRECONDITION_REQUIRED,
)
from api.http.problems.problem import ProblemError, misfit
from api.http.route import ROUTE, Declaration, Match
from api.http.wire import versions
from api.http.wire.ids import Prefix, told

HEADER: Final = "If-Match"
_TAG: Final = re.compile(r'(W/)?"([!#-~]{1,200})"')
_DIGITS: Final = 18


def etag(prefix: Prefix, id_: UUID, version: int) -> str:
    """Return the tag of one version: what `If-Match` is to be when it is meant."""
    return versions.etag(told(prefix, id_), version)


def wanted_version(call: Call, prefix: Prefix, id_: UUID) -> int | None:
    """Return the version that was looked at; None: the route asks for none.

    Raises:
        ProblemError: it is missing where it is required, cannot be read, or is a
            version of something else.
    """
    given = call.header(HEADER)
    if given is None:
        handler: Any = call.request.scope["route_handler"]
        declared: Declaration = handler.opt[ROUTE]
        if declared.match is not Match.REQUIRED:
            return None
        rule = f"send the ETag that was read: {etag(prefix, id_, 1)}"
        raise ProblemError(PRECONDITION_REQUIRED, f"{HEADER}: {rule}")
    tag = _TAG.fullmatch(given.strip())
    if tag is None:
        rule = f"one ETag, in its quotes: {etag(prefix, id_, 1)}"
        raise misfit(HEADER, rule, INVALID_REQUEST, inner="invalid_header")
    thing, _, version = tag[2].rpartition(":")
    is_number = version.isdecimal() and len(version) <= _DIGITS
    if tag[1] or not is_number or thing not in {told(prefix, id_), str(id_)}:
        detail = f"{HEADER} names no version of it; look at it again"
        raise ProblemError(PRECONDITION_FAILED, detail)
    return int(version)
