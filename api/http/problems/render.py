"""Whatever is raised while a request is answered, as one problem.

No message of a driver, no SQL, no path and no payload comes into it: an error that is
not ours is `internal`, its kind and place go to the log.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from http import HTTPStatus
from typing import Any, Final, cast

import msgspec
from litestar import Request, Response
from litestar.exceptions import HTTPException, ValidationException

from api.http.problems.catalogue import (
    DEPENDENCY_UNAVAILABLE,
    FORBIDDEN,
    INSUFFICIENT_SCOPE,
    INTERNAL,
    INVALID_REQUEST,
    METHOD_NOT_ALLOWED,
    NOT_FOUND,
    PAYLOAD_TOO_LARGE,
    PROBLEMS,
    UNAUTHORIZED,
    UNKNOWN_FIELD,
    UNSUPPORTED_MEDIA_TYPE,
    problem_type,
)
from api.http.problems.choices import choices
from api.http.problems.pointers import pointer, step
from api.http.problems.problem import Mistake, Problem, ProblemError
from application.errors import (
    DecisionRefusedError,
    ForbiddenError,
    QuotaExceededError,
    ReviewDecidedError,
    StateConflictError,
)
from domain.errors import CounterfoilError, IllegalTransitionError, InvalidRequestError
from domain.text import storable, unquoted

MEDIA_TYPE: Final = "application/problem+json"
_LATER: Final = {"Retry-After": "1"}
_DETAIL_CHARACTERS: Final = 600
_NAME_CHARACTERS: Final = 64
_UNKNOWN: Final = re.compile(r"Object contains unknown field `(.*)`", re.DOTALL)
_NO_CHOICE: Final = "Invalid enum value"
_AT: Final = re.compile(r"^(.*?)(?: - at `(?:key in )?(\$.*)`)?$", re.DOTALL)
_BY_STATUS: Final[Mapping[int, str]] = {
    HTTPStatus.BAD_REQUEST: INVALID_REQUEST,
    HTTPStatus.UNAUTHORIZED: UNAUTHORIZED,
    HTTPStatus.FORBIDDEN: FORBIDDEN,
    HTTPStatus.NOT_FOUND: NOT_FOUND,
    HTTPStatus.METHOD_NOT_ALLOWED: METHOD_NOT_ALLOWED,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: PAYLOAD_TOO_LARGE,
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE: UNSUPPORTED_MEDIA_TYPE,
}
_DETAILS: Final[Mapping[str, str]] = {
    NOT_FOUND: "nothing is at this address",
    METHOD_NOT_ALLOWED: "the header Allow lists what the resource has",
    PAYLOAD_TOO_LARGE: "the body is larger than this route takes",
    INVALID_REQUEST: "the request cannot be read",
}

_BODIES: Final = frozenset({"data", "body"})
"""Arguments of handlers that take the body."""
_NO_BODY: Final = "this route takes a body, and there is none"

type Translate = Callable[[Exception], CounterfoilError | None]
"""Says an error of the machine in our words; None: it is none that is known."""

type Report = Callable[[str, Exception], None]
"""Tells the log of a fault of ours, by the request's id."""


def render(
    request: Request[Any, Any, Any],
    error: Exception,
    translate: Translate,
    report: Report,
) -> Response[Problem]:
    """Return the problem that `error` is."""
    request_id: str = request.scope["state"].get("request_id", "")
    found = as_problem(error, partial(choices, request))
    if found is None:
        ours = translate(error)
        found = None if ours is None else as_problem(ours)
    if found is None:
        detail = "the request id finds it in our log"
        found = (ProblemError(INTERNAL, detail), dict[str, Any]())
    problem, more = found
    kind = PROBLEMS[problem.code]
    if kind.status == HTTPStatus.INTERNAL_SERVER_ERROR:
        report(request_id, error)
    body = told(problem, request_id, **more)
    request.scope["state"]["problem"] = kind.code
    headers = {"Cache-Control": "no-store", **problem.headers}
    return Response(
        body, status_code=kind.status, media_type=MEDIA_TYPE, headers=headers
    )


def told(
    problem: ProblemError,
    request_id: str,
    **more: Any,  # noqa: ANN401 - members beside what all of them have
) -> Problem:
    """Return what is answered of a problem to that request."""
    kind = PROBLEMS[problem.code]
    return Problem(
        type=kind.uri,
        title=kind.title,
        status=kind.status,
        detail=storable(problem.detail, _DETAIL_CHARACTERS),
        instance=f"/requests/{request_id}",
        code=kind.code,
        request_id=request_id,
        retryable=kind.is_retryable,
        docs=kind.docs,
        errors=tuple(map(_veiled, problem.mistakes)),
        violated_policies=problem.violated,
        **more,
    )


def _veiled(mistake: Mistake) -> Mistake:
    """Return it without what is secret in names and words that were sent."""
    parameter = mistake.parameter
    return msgspec.structs.replace(
        mistake,
        parameter=None if parameter is None else storable(parameter, _NAME_CHARACTERS),
        detail=storable(mistake.detail, _DETAIL_CHARACTERS),
    )


type Found = tuple[ProblemError, dict[str, Any]]
"""A problem of the catalogue, and members beside what all of them have."""


type Choices = Callable[[str], tuple[str, ...]]
"""Returns the words that a body may have at a place; none: not some words alone."""


def as_problem(
    error: Exception, choices_at: Choices = lambda _path: ()
) -> Found | None:
    """Return what an error means to whoever asked; None: nothing that is known."""
    match error:
        case ProblemError():
            return error, {}
        case InvalidRequestError():
            return _invalid(error), {}
        case StateConflictError():
            return _known(error, state=error.state, allowed=(error.remedy,))
        case IllegalTransitionError():
            return _known(error, state=error.stage)
        case QuotaExceededError():
            headers = {"Retry-After": str(error.retry_after_seconds)}
            return ProblemError(error.code, error.detail, headers=headers), {}
        case DecisionRefusedError():
            return _known(error, allowed=error.allowed)
        case ReviewDecidedError():
            return _known(error, state=error.state)
        case ForbiddenError():
            return _known(error)
        case CounterfoilError():
            return _known(error)
        case msgspec.ValidationError():
            return _misread(str(error), choices_at), {}
        case HTTPException():
            return _of_the_framework(error)
        case _:
            return None


def _known(error: CounterfoilError, **more: object) -> Found | None:
    kind = problem_type(error.code)
    if kind is None:
        return None
    headers = dict(_LATER) if kind.is_retryable else {}
    if kind.code == DEPENDENCY_UNAVAILABLE:
        # The driver's words may name hosts and users.
        detail = "the database gives no answer just now; nothing is known to be done"
        return ProblemError(kind.code, detail, headers=headers), {}
    return ProblemError(kind.code, str(error), headers=headers), more


def _invalid(error: InvalidRequestError) -> ProblemError:
    kind = problem_type(error.code) or PROBLEMS[INVALID_REQUEST]
    mistake = Mistake(pointer=pointer(error.path), code=error.code, detail=error.detail)
    return ProblemError(kind.code, str(error), mistakes=(mistake,))


def _misread(told: str, choices_at: Choices) -> ProblemError:
    """Return what the decoder says of a body."""
    found = _AT.match(unquoted(told))
    rule, path = (found[1], found[2] or "$") if found else (told, "$")
    if rule.startswith(_NO_CHOICE) and (words := choices_at(path)):
        rule = f"one of {', '.join(words)}"
    unknown = _UNKNOWN.search(rule)
    code = UNKNOWN_FIELD if unknown else INVALID_REQUEST
    where = pointer(path) + (step(unknown[1]) if unknown else "")
    inner = "unknown_member" if unknown else "invalid_member"
    mistake = Mistake(pointer=where, code=inner, detail=rule)
    said = storable(rule, _DETAIL_CHARACTERS)
    return ProblemError(code, f"{where}: {said}", mistakes=(mistake,))


def _of_the_framework(error: HTTPException) -> Found | None:
    code = _BY_STATUS.get(error.status_code)
    if code is None:
        return None
    mistakes = tuple(_mistakes(error))
    detail = _DETAILS.get(code, "")
    if mistakes:
        detail = "; ".join(
            f"{each.parameter or 'the body'}: {each.detail}" for each in mistakes
        )
    problem = ProblemError(code, detail, mistakes=mistakes, headers=error.headers or {})
    return problem, {}


def _mistakes(error: HTTPException) -> Iterator[Mistake]:
    """Yield which parameters the framework could not read."""
    if not isinstance(error, ValidationException) or not isinstance(error.extra, list):
        return
    for each in cast("list[dict[str, object]]", error.extra):
        if each.get("key") in _BODIES:
            yield Mistake(pointer="#", code="missing_body", detail=_NO_BODY)
            continue
        yield Mistake(
            parameter=_on_the_wire(str(each.get("key", ""))),
            code="invalid_parameter",
            detail=unquoted(str(each.get("message", ""))),
        )


def _on_the_wire(name: str) -> str:
    """Return the parameter that an argument of that name reads."""
    first, *rest = name.rstrip("_").split("_")
    return first + "".join(map(str.capitalize, rest))


__all__ = ["INSUFFICIENT_SCOPE", "MEDIA_TYPE", "as_problem", "render", "told"]
