"""What is answered about jobs."""

import msgspec
from litestar import Response

from api.http.surface import Surface
from api.http.wire.ids import Prefix, told_if
from api.http.wire.values import Position, position
from application.operators.action import Done


class ActedView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What somebody's action has changed."""

    job_id: str | None
    operation_id: str | None
    delivery_id: str | None
    events: tuple[str, ...]
    """Tags of the events that it wrote; none: it was so already."""
    position: Position
    """A read at this position sees them."""


def acted(surface: Surface, done: Done) -> Response[ActedView]:
    """Return what was done, with where to look."""
    job_id = told_if(Prefix.JOB, done.job_id)
    view = ActedView(
        job_id=job_id,
        operation_id=told_if(Prefix.OPERATION, done.operation_id),
        delivery_id=told_if(Prefix.DELIVERY, done.delivery_id),
        events=done.events,
        position=position(done.position),
    )
    headers = {"Retry-After": "2"}
    if job_id is not None:
        headers["Location"] = f"{surface}/jobs/{job_id}"
    return Response(view, headers=headers)
