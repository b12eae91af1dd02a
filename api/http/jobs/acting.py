"""One action of somebody on a job, an operation, a delivery or a dead letter.

The same for every route: under its key once, at the version that was looked at, and
answered with how the job is now.
"""

from collections.abc import Callable
from typing import Final
from uuid import UUID

from litestar import Response

from api.http.call import Call
from api.http.jobs.views import ActedView, acted_view
from api.http.keyed import Made, answered
from api.http.wire.ids import Prefix, given, told
from api.http.wire.match import seen
from application.operators.action import Done, asks_to_end
from application.operators.instruction import Instruction
from application.unit import Versions

type Act = Callable[[str, Instruction, Versions], Done]
"""What is done to what has the id, if it is at one of those versions."""


def acted(
    call: Call,
    named: tuple[Prefix, str],
    act: Act,
    *,
    body: object = None,
) -> Response[ActedView]:
    """Return what was done to what the caller has named, under its key once.

    Raises:
        CounterfoilError: what `act` raises, or `answered`.
    """
    prefix, text = named
    id_ = given(text, prefix)
    versions = seen(call, told(prefix, id_))
    done: list[Done] = []

    def carry_out(instruction: Instruction) -> Made:
        did = act(str(id_), instruction, versions)
        done.append(did)
        kind = prefix.name.lower()
        return Made(kind, str(id_), did.events, did.position, is_asked=did.is_asked)

    def show(made: Made) -> Response[ActedView]:
        did = done[0] if done and made.position is not None else _before(call, made)
        view = acted_view(call, did)
        headers = {"Retry-After": "2"}
        if view.job_id is not None:
            headers["Location"] = f"{call.surface}/jobs/{view.job_id}"
        return Response(view, headers=headers)

    return answered(call, carry_out, show, body=body, is_asked=asks_to_end)


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
