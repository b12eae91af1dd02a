"""Routes of queues: for operators, whose installation they are."""

from collections.abc import Sequence

from litestar import Response
from litestar.di import NamedDependency
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath, JSONBody

from api.http.call import Call
from api.http.keyed import Made, answered
from api.http.queues.bodies import QueuePatch, QueuePausing
from api.http.queues.views import (
    ChangedQueueView,
    QueuesView,
    QueueView,
    changed_view,
    queue_view,
    queues_view,
    tag_of,
)
from api.http.route import Key, Match, route
from api.http.surface import OPERATORS, Surface
from api.http.wire.installation import require_theirs
from api.http.wire.match import etag, seen
from application.errors import NotFoundError
from application.operators.instruction import Instruction
from domain.access.permissions import Permission
from projections.queries.processing.queues import QueueLine

_WHAT = "queue"


@route("GET", "/queues", permission=Permission.JOBS_READ, problems=("not_found",))
def list_queues(call: NamedDependency[Call]) -> QueuesView:
    """Show all queues.

    Their limits and pauses, how many jobs run and are due, and since when.
    """
    require_theirs(call, _WHAT, "list")
    return queues_view(call.services.queries.queues())


@route("GET", "/queues/{queue:str}", permission=Permission.JOBS_READ)
def get_queue(queue: FromPath[str], call: NamedDependency[Call]) -> Response[QueueView]:
    """Show one queue.

    Its ETag is the version of what people have set, for `If-Match`.
    """
    return queue_view(_line(call, queue))


@route(
    "PATCH",
    "/queues/{queue:str}",
    permission=Permission.QUEUES_WRITE,
    key=Key.TAKEN,
    match=Match.REQUIRED,
)
def limit_queue(
    queue: FromPath[str], data: JSONBody[QueuePatch], call: NamedDependency[Call]
) -> Response[ChangedQueueView]:
    """Limit how many jobs of a queue run at once, over all processes.

    Exact whoever dies; null takes the limit away.  What runs beyond a new limit goes
    on, and nothing is claimed until fewer run.
    """
    versions = seen(call, tag_of(queue))

    def carry_out(instruction: Instruction) -> Made:
        done = call.services.control_queues.limit(
            queue, data.concurrency, instruction, versions
        )
        return Made(_WHAT, queue, position=done.position)

    def show(made: Made) -> Response[ChangedQueueView]:
        at = made.position or call.services.queries.projections().last
        return changed_view(_line(call, queue), at)

    return answered(call, carry_out, show, body=data)


@route(
    "PUT",
    "/queues/{queue:str}/pause",
    permission=Permission.QUEUES_WRITE,
    match=Match.TAKEN,
    problems=("queue_paused",),
)
def pause_queue(
    queue: FromPath[str], data: JSONBody[QueuePausing], call: NamedDependency[Call]
) -> Response[ChangedQueueView]:
    """Pause a queue, until an instant that is at most 24 hours away.

    Nothing of it is claimed after the answer; what runs goes on.  The same person
    renews a pause for the same reason; for others it is taken.
    """
    done = call.services.control_queues.pause(
        queue, data.expires_at, call.instruction(), seen(call, tag_of(queue))
    )
    return changed_view(_line(call, queue), done.position)


@route(
    "DELETE",
    "/queues/{queue:str}/pause",
    permission=Permission.QUEUES_WRITE,
    status=204,
    match=Match.TAKEN,
)
def resume_queue(queue: FromPath[str], call: NamedDependency[Call]) -> Response[None]:
    """Resume a queue, whoever paused it.

    One that is not paused stays so.
    """
    done = call.services.control_queues.resume(
        queue, call.instruction(), seen(call, tag_of(queue))
    )
    tag = etag(tag_of(queue), done.after.version)
    return Response(None, headers={"ETag": tag})


def _line(call: Call, name: str) -> QueueLine:
    require_theirs(call, _WHAT, name)
    found = call.services.queries.queues(name).queues
    if not found:
        raise NotFoundError(_WHAT, name)
    return found[0]


def routes(surface: Surface) -> Sequence[HTTPRouteHandler]:
    """Return the routes of queues on that surface."""
    if surface not in OPERATORS:
        return ()
    return (list_queues, get_queue, limit_queue, pause_queue, resume_queue)
