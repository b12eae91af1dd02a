"""One action of somebody on a job, an operation, a delivery or a dead letter.

The same for every route: under its key once, at the version that was looked at, and
answered with how the job is now.
"""

from collections.abc import Callable, Mapping
from typing import Final
from uuid import UUID

from litestar import Response

from api.http.call import Call
from api.http.jobs.views import ActedView, acted_view
from api.http.keyed import Made, answered
from api.http.wire.ids import Prefix, given, told
from api.http.wire.versions import expected
from application.operators.action import Done
from application.operators.instruction import Instruction
from domain.jobs.events import CancelRequested

type Act = Callable[[str, Instruction, int | None], Done]
"""What is done to what has the id, if it is at that version."""

ASKED: Final[Mapping[str, int]] = {CancelRequested.tag: 202}
"""A running job is only asked to end."""

_NO_STATUSES: Final[Mapping[str, int]] = {}


def acted(
    call: Call,
    named: tuple[Prefix, str],
    act: Act,
    *,
    body: object = None,
    status_after: Mapping[str, int] = _NO_STATUSES,
) -> Response[ActedView]:
    """Return what was done to what the caller has named, under its key once.

    Raises:
        CounterfoilError: what `act` raises, or `answered`.
    """
    prefix, text = named
    id_ = given(text, prefix)
    version = expected(call, told(prefix, id_))
    done: list[Done] = []

    def carry_out(instruction: Instruction) -> Made:
        did = act(str(id_), instruction, version)
        done.append(did)
        # Asked once more of a running job, it is as much asked for as at first.
        events = (CancelRequested.tag,) if did.is_asked else did.events
        return Made(prefix.name.lower(), str(id_), events, did.position)

    def show(made: Made) -> Response[ActedView]:
        did = done[0] if done and made.position is not None else _before(call, made)
        view = acted_view(call, did)
        headers = {"Retry-After": "2"}
        if view.job_id is not None:
            headers["Location"] = f"{call.surface}/jobs/{view.job_id}"
        return Response(view, headers=headers)

    return answered(call, carry_out, show, body=body, status_after=status_after)


def _before(call: Call, made: Made) -> Done:
    """Return what was done under the key before, as far as it is told again."""
    id_ = UUID(made.id)
    ids = {kind: id_ if made.kind == kind else None for kind in _KINDS}
    return Done(
        job_id=ids["job"],
        operation_id=ids["operation"],
        delivery_id=ids["delivery"],
        events=(),
        position=call.services.retry.targets.streams.last_position([id_]),
    )


_KINDS: Final = ("job", "operation", "delivery")
