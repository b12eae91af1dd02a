"""Routes of what people do about dead letters."""

from collections.abc import Sequence

from litestar import Response
from litestar.di import NamedDependency
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath

from api.http.call import Call
from api.http.jobs.acting import acted
from api.http.jobs.routes import ROOM
from api.http.jobs.views import ActedView
from api.http.route import Key, Match, route
from api.http.surface import Surface
from api.http.wire.ids import Prefix
from domain.access.permissions import Permission

_PROBLEMS = (
    "not_found",
    "state_conflict",
    "job_mutation_rejected",
    "precondition_failed",
)


@route(
    "POST",
    "/dead-letters/{letter_id:str}/redrive",
    permission=Permission.DEADLETTERS_WRITE,
    status=202,
    key=Key.TAKEN,
    match=Match.TAKEN,
    problems=(*_PROBLEMS, "unique_job_active", *ROOM),
)
def redrive_letter(
    letter_id: FromPath[str], call: NamedDependency[Call]
) -> Response[ActedView]:
    """Run what is dead again: the same as a retry of it."""
    return acted(call, _named(letter_id), call.services.letters.redrive)


@route(
    "POST",
    "/dead-letters/{letter_id:str}/dismiss",
    permission=Permission.DEADLETTERS_WRITE,
    key=Key.TAKEN,
    match=Match.TAKEN,
    problems=_PROBLEMS,
)
def dismiss_letter(
    letter_id: FromPath[str], call: NamedDependency[Call]
) -> Response[ActedView]:
    """Take a dead letter out of the list; it is not run, and stays as dead as it is.

    It can still be retried.  A review is decided instead: money depends on it.
    """
    return acted(call, _named(letter_id), call.services.letters.dismiss)


@route(
    "POST",
    "/dead-letters/{letter_id:str}/acknowledge",
    permission=Permission.DEADLETTERS_WRITE,
    key=Key.TAKEN,
    match=Match.TAKEN,
    problems=_PROBLEMS,
)
def acknowledge_letter(
    letter_id: FromPath[str], call: NamedDependency[Call]
) -> Response[ActedView]:
    """Say that somebody sees to a dead letter; it stays in the list."""
    return acted(call, _named(letter_id), call.services.letters.acknowledge)


def _named(letter_id: str) -> tuple[Prefix, str]:
    """Return what is dead, by its prefix; without one, it is taken for a job's."""
    kinds = (Prefix.JOB, Prefix.OPERATION, Prefix.DELIVERY)
    prefix = next((it for it in kinds if letter_id.startswith(f"{it}_")), Prefix.JOB)
    return prefix, letter_id


def routes(surface: Surface) -> Sequence[HTTPRouteHandler]:
    """Return the routes of dead letters on that surface."""
    if surface not in {Surface.ADMIN, Surface.PANEL}:
        return ()
    return redrive_letter, dismiss_letter, acknowledge_letter
