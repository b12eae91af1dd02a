"""Requests under an `Idempotency-Key`: carried out once, answered whenever they come.

    def retry_job(job_id: FromPath[str], call: NamedDependency[Call]) -> Response[View]:
        def carry_out(instruction: Instruction) -> Made:
            done = call.services.retry(str(given(job_id, Prefix.JOB)), instruction)
            return Made("job", str(done.job_id), done.events, done.position)

        return answered(call, carry_out, lambda made: shown(call, made))

The use case hands `instruction.once` to its group (`application.once`); `show` tells
how what was made is now.  Without the header it is the same, but for repetitions.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from litestar import Response

from api.http.call import Call
from api.http.problems.catalogue import INVALID_REQUEST, MISSING_IDEMPOTENCY_KEY
from api.http.problems.problem import ProblemError, misfit
from api.http.route import ROUTE, Declaration, Key
from api.http.surface import Surface
from application.once.answers import answer_once
from application.once.key import HEADER, read_key
from application.operators.instruction import Instruction
from application.unit import Answer, IsAsked, Once
from domain.errors import InvalidRequestError
from domain.plain_json import plain
from domain.stream import Change

REPLAYED: Final = "Idempotency-Replayed"
_PAGE: Final = f"https://counterfoil.dev/problems/{MISSING_IDEMPOTENCY_KEY}"


@dataclass(frozen=True, slots=True)
class Made:
    """What a request has made or changed: now, or when it came first."""

    kind: str
    """For whoever shows it: a word of the route's own, at most."""
    id: str
    events: tuple[str, ...] = ()
    """Tags of what was written; none when it was before."""
    position: int | None = None
    """Where a reader sees it; None when it was before."""
    is_asked: bool = False
    """Whether somebody else has to do it yet: the route's other status is answered."""


def _is_done(_changes: Sequence[Change]) -> bool:
    return False


def answered[V](
    call: Call,
    carry_out: Callable[[Instruction], Made],
    show: Callable[[Made], Response[V]],
    *,
    body: object = None,
    is_asked: IsAsked = _is_done,
) -> Response[V]:
    """Return the answer to a request that has one effect under its key.

    `body` is what was asked with its defaults filled in.  `is_asked` tells by what was
    written whether the route's other status is answered, now and to repetitions.

    Raises:
        ProblemError: the key is missing or is none, or the reason is.
        CounterfoilError: what `carry_out` raises; or see `answer_once`.
    """
    once = _once(call, body, is_asked)
    instruction = msgspec.structs.replace(call.instruction(), once=once)
    done: list[Made] = []

    def act() -> Answer:
        made = carry_out(instruction)
        done.append(made)
        declared = _declared(call)
        status = declared.also[0] if made.is_asked else declared.status
        return Answer(status=status, kind=made.kind, id=made.id)

    told = answer_once(call.services.answers, once, act)
    made = Made(told.answer.kind, told.answer.id) if told.is_repeated else done[0]
    response = show(made)
    response.status_code = told.answer.status
    if told.is_repeated:
        response.headers[REPLAYED] = "true"
    return response


def _once(call: Call, body: object, is_asked: IsAsked) -> Once | None:
    key = _key(call)
    if key is None:
        return None
    declared, principal = _declared(call), call.principal
    request: dict[str, object] = {
        "method": declared.method,
        "route": call.request.scope["path_template"],
        "path": plain(call.request.path_params, "path"),
        "body": plain(msgspec.to_builtins(body)),
    }
    actor = f"{principal.actor.type}:{principal.actor.id}"
    return Once(
        tenant_id=principal.tenant_id,
        principal=actor if principal.id is None else str(principal.id),
        key=key,
        request=request,
        status=declared.status,
        status_asked=next(iter(declared.also), None),
        is_asked=is_asked,
    )


def _key(call: Call) -> str | None:
    """Return the request's key, or None.

    Raises:
        ProblemError: it is missing where it is required, or is none.
    """
    told: list[str] = call.request.headers.getall(HEADER, [])
    if not told:
        is_required = _declared(call).key is Key.REQUIRED
        if is_required and call.surface is not Surface.PANEL:
            detail = f"give this request a key of its own in the header {HEADER}"
            headers = {"Link": f'<{_PAGE}>; rel="describedby"'}
            raise ProblemError(MISSING_IDEMPOTENCY_KEY, detail, headers=headers)
        return None
    try:
        # Two keys are none: nobody can say which one is meant.
        return read_key(", ".join(told))
    except InvalidRequestError as error:
        inner = error.code
        raise misfit(HEADER, error.detail, INVALID_REQUEST, inner=inner) from None


def _declared(call: Call) -> Declaration:
    handler: Any = call.request.scope["route_handler"]
    declared: Declaration = handler.opt[ROUTE]
    return declared
