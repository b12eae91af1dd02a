"""Which problems an operation may answer: its own, and those of all like it."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from api.http.contract.listing import Operation
from api.http.problems import catalogue
from api.http.problems.catalogue import PROBLEMS, ProblemType
from api.http.problems.problem import Problem
from api.http.problems.render import MEDIA_TYPE
from api.http.route import Key, Match
from api.http.surface import OPERATORS, Surface

_PROBLEM: Final = {"$ref": "#/components/schemas/Problem"}
_RESPONSES: Final = "#/components/responses/"
_EXAMPLES: Final = "#/components/examples/"
_RETRY_AFTER: Final = {
    "description": "Seconds after which it may be asked again",
    "schema": {"type": "integer", "minimum": 1},
}
_CHALLENGE: Final = {
    "description": "Which credential would be right",
    "schema": {"type": "string"},
}


def codes(operation: Operation) -> tuple[str, ...]:
    """Return the codes of every problem that the operation may answer."""
    return tuple(dict.fromkeys((*_of_all(operation), *operation.declared.problems)))


def _of_all(operation: Operation) -> Iterator[str]:
    declared, surface = operation.declared, operation.surface
    yield from (catalogue.UNKNOWN_FIELD, catalogue.INVALID_REQUEST)
    yield catalogue.NOT_ACCEPTABLE
    yield from (catalogue.REQUEST_TIMEOUT, catalogue.HEAD_TOO_LARGE)
    if not declared.is_open:
        yield from (catalogue.UNAUTHORIZED, catalogue.QUOTA_EXCEEDED)
    if not declared.is_open and surface is Surface.PANEL and declared.is_change:
        yield catalogue.FORBIDDEN
    if declared.permission is not None:
        yield (
            catalogue.FORBIDDEN
            if surface is Surface.PANEL
            else catalogue.INSUFFICIENT_SCOPE
        )
    if any(each.where == "path" for each in operation.parameters()):
        yield catalogue.NOT_FOUND
    if declared.is_recorded:
        yield catalogue.JOBS_UNAVAILABLE
    if declared.is_change:
        yield catalogue.PAYLOAD_TOO_LARGE
    if operation.body is not None:
        yield catalogue.UNSUPPORTED_MEDIA_TYPE
    if declared.is_recorded and declared.is_reasoned and surface in OPERATORS:
        yield catalogue.REASON_REQUIRED
    if declared.key is not Key.NONE:
        yield from ("idempotency_key_reused", "idempotency_in_progress")
    if declared.key is Key.REQUIRED and surface is not Surface.PANEL:
        yield catalogue.MISSING_IDEMPOTENCY_KEY
    if declared.match is not Match.NONE:
        yield "precondition_failed"
    if declared.match is Match.REQUIRED:
        yield "precondition_required"
    yield from (catalogue.INTERNAL, catalogue.DEPENDENCY_UNAVAILABLE)


def problem_responses(operation: Operation) -> dict[str, Any]:
    """Return the responses of an operation that are problems, by status."""
    by_status: dict[int, list[ProblemType]] = {}
    for code in codes(operation):
        kind = PROBLEMS[code]
        by_status.setdefault(int(kind.status), []).append(kind)
    return {
        str(status): _response(status, kinds)
        for status, kinds in sorted(by_status.items())
    }


def _response(status: int, kinds: list[ProblemType]) -> dict[str, Any]:
    examples = {kind.code: {"$ref": f"{_EXAMPLES}{kind.code}"} for kind in kinds}
    return {
        "description": "; ".join(kind.title for kind in kinds),
        "headers": dict(_headers(status, kinds)),
        "content": {MEDIA_TYPE: {"schema": _PROBLEM, "examples": examples}},
    }


def shared(paths: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Move responses that are problems out of operations; return them by their names.

    Hundreds of operations have the same few dozens.
    """
    moved: dict[str, Any] = {}
    for methods in paths.values():
        for operation in methods.values():
            for status, told in operation["responses"].items():
                if MEDIA_TYPE in told.get("content", {}):
                    codes_ = told["content"][MEDIA_TYPE]["examples"]
                    name = "-or-".join((status, *codes_))
                    moved[name] = told
                    operation["responses"][status] = {"$ref": f"{_RESPONSES}{name}"}
    return moved


def _headers(
    status: int, kinds: list[ProblemType]
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if any(kind.is_retryable for kind in kinds):
        yield "Retry-After", _RETRY_AFTER
    if status == PROBLEMS[catalogue.UNAUTHORIZED].status:
        yield "WWW-Authenticate", _CHALLENGE


def examples() -> dict[str, Any]:
    """Return an example of every problem, by its code."""
    return {code: {"value": _example(kind)} for code, kind in PROBLEMS.items()}


def _example(kind: ProblemType) -> dict[str, Any]:
    """Return a problem of that kind as it may be answered."""
    request_id = "0197d3a0f00d7000800000000000c0de"
    problem = Problem(
        type=kind.uri,
        title=kind.title,
        status=int(kind.status),
        detail="what happened this time, and what can be done",
        instance=f"/requests/{request_id}",
        code=kind.code,
        request_id=request_id,
        retryable=kind.is_retryable,
        docs=kind.docs,
    )
    made: dict[str, Any] = msgspec.to_builtins(problem)
    return made
