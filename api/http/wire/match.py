"""Versions on the wire: an ETag says of what, and `If-Match` which ones were looked at.

As RFC 9110 has it (8.8.3, 13.1.1):

    *                         whatever it is now
    "job_…:3"                 that version
    "job_…:3", "job_…:4"      one of them
    W/"job_…:3", "op_…:3"     none: weak, or of something else
    job_…:3                   nothing that could be read
"""

import re
from typing import Final

from api.http.call import Call
from api.http.problems.catalogue import INVALID_REQUEST, PRECONDITION_REQUIRED
from api.http.problems.problem import ProblemError, misfit
from api.http.route import ROUTE, Declaration, Match
from application.unit import Versions

HEADER: Final = "If-Match"
_ANY: Final = "*"
_DIGITS: Final = 18
_RULE: Final = "ETags in their quotes, with commas between them, or *"

# A list may have empty members, before, between and behind.
_BEFORE: Final = re.compile(r"[ \t]*(?:,[ \t]*)*")
_TAG: Final = re.compile(
    r'(W/)?"([!#-~\x80-\xff]*)"(?:[ \t]*(?:,[ \t]*)+|[ \t]*\Z)', re.ASCII
)


class UnreadableError(ValueError):
    """It is neither `*` nor a list of entity tags."""


def etag(what: str, version: int) -> str:
    """Return the strong entity tag of a thing at a version: `"queue_bulk:3"`."""
    return f'"{what}:{version}"'


def seen(call: Call, what: str) -> Versions:
    """Return which versions of a thing were looked at by whoever changes it.

    Raises:
        ProblemError: the header is missing where it is required, or cannot be read.
    """
    given: list[str] = call.request.headers.getall(HEADER, [])
    if not given:
        declared: Declaration = call.request.scope["route_handler"].opt[ROUTE]
        if declared.match is Match.REQUIRED:
            rule = f"send the ETag that was read, as {etag(what, 1)}, or *"
            raise ProblemError(PRECONDITION_REQUIRED, f"{HEADER}: {rule}")
        return None
    try:
        return versions_in(", ".join(given), what)
    except UnreadableError:
        raise misfit(HEADER, _RULE, INVALID_REQUEST, inner="invalid_header") from None


def versions_in(value: str, what: str) -> Versions:
    """Return the versions of `what` that a header's value names.

    Raises:
        UnreadableError: it has another form.
    """
    if value.strip(" \t") == _ANY:
        return None
    versions: set[int] = set()
    at = _end(_BEFORE.match(value))
    while at < len(value):
        tag = _TAG.match(value, at)
        if tag is None:
            raise UnreadableError
        version = _version(tag[2])
        if tag[1] is None and f'"{tag[2]}"' == etag(what, version):
            versions.add(version)
        at = tag.end()
    return frozenset(versions)


def _end(found: re.Match[str] | None) -> int:
    return 0 if found is None else found.end()


def _version(opaque: str) -> int:
    """Return the number at the end of a tag, or -1."""
    digits = opaque.rpartition(":")[2]
    is_number = digits.isascii() and digits.isdecimal() and len(digits) <= _DIGITS
    return int(digits) if is_number else -1
