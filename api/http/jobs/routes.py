"""Routes of what people and programs do to jobs and operations."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from litestar import Response
from litestar.di import NamedDependency
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath, JSONBody

from api.http.call import Call
from api.http.jobs.acting import acted
from api.http.jobs.bodies import Snooze
from api.http.jobs.views import ActedView
from api.http.route import Key, Match, route
from api.http.surface import Surface
from api.http.wire.ids import Prefix
from application.operators.action import Action, Done
from application.operators.instruction import Instruction
from application.unit import Versions
from domain.access.permissions import Permission

ROOM: Final = ("tenant_pending_limit", "total_pending_limit")
_REFUSED: Final = ("not_found", "state_conflict", "precondition_failed")
_OF_JOBS: Final = (*_REFUSED, "job_mutation_rejected")


@route(
    "POST",
    "/jobs/{job_id:str}/retry",
    permission=Permission.JOBS_WRITE,
    status=202,
    key=Key.TAKEN,
    match=Match.TAKEN,
    problems=(*_OF_JOBS, "unique_job_active", *ROOM),
)
def retry_job(
    job_id: FromPath[str], call: NamedDependency[Call]
) -> Response[ActedView]:
    """Run a dead job again, or a waiting one now.

    It keeps its id, arguments and key; its budget begins anew, and it runs now.
    """
    return acted(call, (Prefix.JOB, job_id), call.services.retry)


@route(
    "POST",
    "/jobs/{job_id:str}/cancel",
    permission=Permission.JOBS_WRITE,
    also=(202,),
    key=Key.TAKEN,
    match=Match.TAKEN,
    problems=_OF_JOBS,
)
def cancel_job(
    job_id: FromPath[str], call: NamedDependency[Call]
) -> Response[ActedView]:
    """Cancel a job that is not over.

    A waiting one never runs (200); a running one is asked to end (202), and its worker
    knows within one heartbeat.
    """
    named = (Prefix.JOB, job_id)
    return acted(call, named, call.services.cancel)


@route(
    "POST",
    "/jobs/{job_id:str}/snooze",
    permission=Permission.JOBS_WRITE,
    key=Key.TAKEN,
    match=Match.TAKEN,
    problems=_OF_JOBS,
)
def snooze_job(
    job_id: FromPath[str], data: JSONBody[Snooze], call: NamedDependency[Call]
) -> Response[ActedView]:
    """Let a waiting job wait until an instant; its attempts stay as they are."""

    def act(key: str, instruction: Instruction, versions: Versions) -> Done:
        return call.services.snooze(key, data.until, instruction, versions)

    return acted(call, (Prefix.JOB, job_id), act, body=data)


@route(
    "POST",
    "/operations/{operation_id:str}/retry",
    permission=Permission.OPERATIONS_WRITE,
    status=202,
    key=Key.TAKEN,
    match=Match.TAKEN,
    problems=(*_REFUSED, "unique_job_active", *ROOM),
)
def retry_operation(
    operation_id: FromPath[str], call: NamedDependency[Call]
) -> Response[ActedView]:
    """Run a failed operation again, or one that waits for its next attempt now."""
    return acted(call, (Prefix.OPERATION, operation_id), _of(call.services.retry))


@route(
    "POST",
    "/operations/{operation_id:str}/cancel",
    permission=Permission.OPERATIONS_WRITE,
    also=(202,),
    key=Key.TAKEN,
    match=Match.TAKEN,
    problems=_REFUSED,
)
def cancel_operation(
    operation_id: FromPath[str], call: NamedDependency[Call]
) -> Response[ActedView]:
    """Cancel an operation that has not succeeded; a running one is asked to end."""
    named = (Prefix.OPERATION, operation_id)
    return acted(call, named, _of(call.services.cancel))


@route(
    "POST",
    "/system/jobs/{operation_id:str}/retry",
    permission=Permission.OPERATIONS_WRITE,
    status=202,
    key=Key.TAKEN,
    match=Match.TAKEN,
    problems=(*_REFUSED, "unique_job_active", *ROOM),
)
def retry_system_job(
    operation_id: FromPath[str], call: NamedDependency[Call]
) -> Response[ActedView]:
    """Run a failed operation again: the earlier product's path."""
    return acted(call, (Prefix.OPERATION, operation_id), _of(call.services.retry))


@route(
    "POST",
    "/system/jobs/{operation_id:str}/cancel",
    permission=Permission.OPERATIONS_WRITE,
    also=(202,),
    key=Key.TAKEN,
    match=Match.TAKEN,
    problems=_REFUSED,
)
def cancel_system_job(
    operation_id: FromPath[str], call: NamedDependency[Call]
) -> Response[ActedView]:
    """Cancel an operation: the earlier product's path."""
    named = (Prefix.OPERATION, operation_id)
    return acted(call, named, _of(call.services.cancel))


def _of(action: Action) -> Action:
    """Return an action for whoever may do it to operations."""
    return replace(action, permission=Permission.OPERATIONS_WRITE)


_EVERYWHERE: Final = (retry_job, cancel_job)
_OPERATORS: Final = (snooze_job, retry_operation, cancel_operation)
_PANEL: Final = (retry_system_job, cancel_system_job)


def routes(surface: Surface) -> Sequence[HTTPRouteHandler]:
    """Return the routes of jobs and operations on that surface."""
    match surface:
        case Surface.SHOPS:
            return _EVERYWHERE
        case Surface.ADMIN:
            return (*_EVERYWHERE, *_OPERATORS)
        case Surface.PANEL:
            return (*_EVERYWHERE, *_OPERATORS, *_PANEL)
        case Surface.HOOKS:
            return ()
