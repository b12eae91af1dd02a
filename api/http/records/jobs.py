"""Jobs: every one that ever was, and one with all that it went through."""

from collections.abc import Sequence
from typing import Annotated

from litestar import Response
from litestar.di import NamedDependency
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath, QueryParameter

from api.http.call import Call
from api.http.lists.page import Offer, listed
from api.http.lists.query import ListQuery, list_query
from api.http.lists.views import ListView
from api.http.live.waiting import Waited
from api.http.records.job_views import (
    JobDetailView,
    JobReportView,
    JobView,
    detail_view,
    job_view,
    report_view,
)
from api.http.records.problems import LIST_PROBLEMS
from api.http.route import route
from api.http.surface import Surface
from api.http.wire.ids import Prefix, given, told
from api.http.wire.match import etag
from application.errors import NotFoundError
from domain.access.permissions import Permission
from projections.queries.grammar.declared import OPERATORS_JOBS, SHOPS_JOBS
from projections.queries.grammar.job_words import DEAD_LETTER
from projections.queries.jobs import JOBS
from projections.queries.records.job import JobRecord
from projections.read_models.jobs import JobRow
from projections.reading import AsOf

_SHOPS = Offer(name="shops' jobs", vocabulary=SHOPS_JOBS, listing=JOBS)
_OPERATORS = Offer(name="operators' jobs", vocabulary=OPERATORS_JOBS, listing=JOBS)
_DEAD = f"state:{DEAD_LETTER}"


@route(
    "GET",
    "/jobs",
    permission=Permission.JOBS_READ,
    query=list_query,
    problems=LIST_PROBLEMS,
)
def list_jobs(
    wanted: NamedDependency[ListQuery], call: NamedDependency[Call]
) -> Response[ListView[JobView]]:
    """List jobs, whatever became of them, the newest first."""
    return _listed(
        call, wanted, _SHOPS if call.surface is Surface.SHOPS else _OPERATORS
    )


@route(
    "GET",
    "/jobs",
    permission=Permission.JOBS_READ,
    query=list_query,
    problems=LIST_PROBLEMS,
)
def list_dead_jobs(
    wanted: NamedDependency[ListQuery],
    call: NamedDependency[Call],
    state_: Annotated[
        str | None,
        QueryParameter(
            name="state",
            description="One state; the same as the term `state:…` of a filter.",
        ),
    ] = None,
) -> Response[ListView[JobView]]:
    """List jobs: discarded and cancelled ones, when nothing is asked for.

    `?f=` without a term lists all of them.
    """
    # As a filter: what is no state is refused as one, with all states that there are.
    default = _DEAD if state_ is None else f'state:"{_escaped(state_)}"'
    terms = default if wanted.filter is None else wanted.filter
    if wanted.filter is not None and state_ is not None:
        terms = f"{default} {wanted.filter}"
    offer = Offer(
        name=_OPERATORS.name,
        vocabulary=OPERATORS_JOBS,
        listing=JOBS,
        default=terms,
    )
    return _listed(call, _without_filter(wanted), offer)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _without_filter(query: ListQuery) -> ListQuery:
    """Return the query whose filter is the offer's."""
    return ListQuery(
        filter=None,
        cursor=query.cursor,
        limit=query.limit,
        sort=query.sort,
        is_counted=query.is_counted,
        at_position=query.at_position,
    )


def _listed(call: Call, query: ListQuery, offer: Offer) -> Response[ListView[JobView]]:
    def view(row: JobRow, shown: AsOf) -> JobView:
        return job_view(call.surface, row, shown.at)

    return listed(call, query, offer, call.services.queries.jobs, view)


@route(
    "GET",
    "/jobs/{job_id:str}",
    permission=Permission.JOBS_READ,
    problems=("not_found",),
)
def get_job(
    job_id: FromPath[str],
    call: NamedDependency[Call],
    waited: NamedDependency[Waited],
) -> Response[JobDetailView]:
    """Tell everything of one job: its attempts, its lease, and what belongs to it.

    With `Prefer: wait=10` it is answered when the job has ended, or after 10 seconds.
    """
    job = _job(call, job_id)
    headers = _headers(job) | waited.headers
    return Response(detail_view(call.surface, job), headers=headers)


@route(
    "GET",
    "/jobs/{job_id:str}/report",
    permission=Permission.JOBS_READ,
    problems=("not_found",),
)
def get_report(
    job_id: FromPath[str], call: NamedDependency[Call]
) -> Response[JobReportView]:
    """Report on one job: arguments in summary, attempts, progress and result."""
    job = _job(call, job_id)
    return Response(report_view(call.surface, job), headers=_headers(job))


def _job(call: Call, text: str) -> JobRecord:
    job = call.services.queries.record(given(text, Prefix.JOB), call.tenant_id)
    if job is None:
        what = "job"
        raise NotFoundError(what, text[:64])
    return job


def _headers(job: JobRecord) -> dict[str, str]:
    headers = {"ETag": etag(told(Prefix.JOB, job.job_id), job.version)}
    if job.finished_at is None:
        headers["Retry-After"] = "2"
    return headers


def routes(surface: Surface) -> Sequence[HTTPRouteHandler]:
    """Return the routes of jobs that only look."""
    match surface:
        case Surface.SHOPS:
            return list_jobs, get_job, get_report
        case Surface.ADMIN:
            return list_dead_jobs, get_job, get_report
        case Surface.PANEL:
            return list_jobs, get_job, get_report
        case Surface.HOOKS:
            return ()
