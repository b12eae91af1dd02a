"""Routes of jobs."""

from collections.abc import Sequence

from litestar import Response
from litestar.di import NamedDependency
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath

from api.http.call import Call
from api.http.jobs.views import ActedView, acted
from api.http.route import Key, route
from api.http.surface import Surface
from api.http.wire.ids import Prefix, given
from domain.access.permissions import Permission

_ANY = (Prefix.JOB, Prefix.OPERATION, Prefix.DELIVERY)


@route(
    "POST",
    "/jobs/{job_id:str}/retry",
    permission=Permission.JOBS_WRITE,
    status=202,
    key=Key.TAKEN,
    problems=(
        "not_found",
        "state_conflict",
        "unique_job_active",
        "tenant_pending_limit",
        "total_pending_limit",
    ),
)
def retry_job(
    job_id: FromPath[str], call: NamedDependency[Call]
) -> Response[ActedView]:
    """Run a dead job again.

    It keeps its id, arguments and key; its budget begins anew, and it runs now.
    """
    done = call.services.retry(str(given(job_id, *_ANY)), call.instruction())
    return acted(call.surface, done)


def routes(surface: Surface) -> Sequence[HTTPRouteHandler]:
    """Return the routes of jobs on that surface."""
    return () if surface is Surface.HOOKS else (retry_job,)
