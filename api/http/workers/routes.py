"""Routes of workers: for operators, whose installation they are."""

from collections.abc import Sequence

from litestar import Response
from litestar.di import NamedDependency
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath

from api.http.call import Call
from api.http.keyed import Made, answered
from api.http.route import Key, route
from api.http.surface import OPERATORS, Surface
from api.http.wire.ids import Prefix, given
from api.http.wire.installation import require_theirs
from api.http.workers.views import (
    DrainedView,
    WorkersView,
    drained_view,
    workers_view,
)
from application.operators.instruction import Instruction
from domain.access.permissions import Permission

_WHAT = "worker"


@route("GET", "/workers", permission=Permission.JOBS_READ, problems=("not_found",))
def list_workers(call: NamedDependency[Call]) -> WorkersView:
    """Show the worker processes.

    Where they run, whether they are heard of, and what they hold.
    """
    require_theirs(call, _WHAT, "list")
    return workers_view(call.services.queries.workers())


@route(
    "POST",
    "/workers/{worker_id:str}/drain",
    permission=Permission.QUEUES_WRITE,
    status=202,
    key=Key.TAKEN,
    problems=("state_conflict",),
)
def drain_worker(
    worker_id: FromPath[str], call: NamedDependency[Call]
) -> Response[DrainedView]:
    """Ask a worker to claim nothing more.

    It knows within a second, gives back what it has not begun, ends what it runs, and
    stays idle until it is stopped.
    """
    boot = given(worker_id, Prefix.WORKER)

    def carry_out(instruction: Instruction) -> Made:
        done = call.services.drain_worker(str(boot), instruction)
        return Made(_WHAT, str(boot), position=done.position)

    def show(made: Made) -> Response[DrainedView]:
        (line,) = call.services.queries.workers(boot).workers
        headers = {"Retry-After": "2", "Location": f"{call.surface}/workers"}
        return Response(drained_view(line, made.position), headers=headers)

    return answered(call, carry_out, show)


def routes(surface: Surface) -> Sequence[HTTPRouteHandler]:
    """Return the routes of workers on that surface."""
    return (list_workers, drain_worker) if surface in OPERATORS else ()
