"""A job of a bulk operation that ends before its work is done stops the operation.

 job                     bulk operation
 discarded, cancelled ►  paused; while it is previewed: cancelled, with the job's code

Nothing else moves it: its handler says itself what it has done.
"""

from collections.abc import Sequence

from application.unit import Head, changed
from domain.bulk.aggregate import BulkOperation, Stage, decide, evolve
from domain.bulk.commands import Cancel, Pause, Tally
from domain.jobs.events import Cancelled, Discarded, JobEvent
from domain.stream import Change, Ref


def record_change(
    ref: Ref, head: Head, after: Sequence[JobEvent]
) -> tuple[Change, ...]:
    """Return the change of a locked bulk operation that follows its job's events."""
    bulk = head.state
    code = next((it for it in map(_code, after) if it is not None), None)
    if not isinstance(bulk, BulkOperation) or code is None:
        return ()
    match bulk.stage:
        case Stage.PREVIEWING:
            # Nothing has been begun by then.
            events = decide(bulk, Cancel(tally=Tally(), code=code))
        case Stage.RUNNING:
            events = decide(bulk, Pause(code=code))
        case _:
            return ()
    for event in events:
        bulk = evolve(bulk, event)
    return (changed(ref, head, events, bulk),)


def _code(event: JobEvent) -> str | None:
    match event:
        case Discarded():
            return event.error_code or event.code
        case Cancelled():
            return event.code
        case _:
            return None
