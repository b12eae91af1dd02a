"""Endings as they are measured, by what they mean for the attempt and for the job."""

from collections.abc import Iterable
from typing import Final
from uuid import UUID

from application.unit import Result, Written
from domain.event import Event
from domain.jobs.events import Cancelled, Discarded, Succeeded
from domain.jobs.outcome import (
    Ambiguous,
    Cancel,
    Completed,
    Fail,
    Gated,
    Park,
    Retry,
    Snooze,
)
from domain.jobs.verdict import Ending, Interrupted, LeaseLost, Unfit
from infrastructure.processor.leases import Held
from infrastructure.telemetry import is_measured, measure
from infrastructure.telemetry.measures import (
    EventsAppended,
    JobsSucceeded,
    Run,
    RunsSettled,
    WriteFenced,
)
from infrastructure.telemetry.measures import LeaseLost as Lost

RESULTS: Final[dict[type[Ending], str]] = {
    Completed: "ok",
    Retry: "retryable",
    Fail: "permanent",
    Unfit: "permanent",
    Ambiguous: "ambiguous",
    Snooze: "snoozed",
    Park: "held",
    Gated: "held",
    Cancel: "cancelled",
    LeaseLost: "lease_lost",
}
"""What each ending counts as; one that gives the job back untouched is no attempt."""


def tell_successes(ended: Iterable[tuple[Held, float]]) -> None:
    """Measure jobs that plainly succeeded, each with when its run was over."""
    if not is_measured():
        return
    seconds: dict[tuple[str, str], list[float]] = {}
    margins: dict[tuple[str, str], list[float]] = {}
    n = 0
    for held, at in ended:
        n += 1
        begun_at = held.begun_at
        if begun_at is not None:  # whatever has succeeded has begun
            what = (held.job.queue, held.job.kind)
            mine = seconds.get(what)
            if mine is None:
                mine = seconds[what] = []
                margins[what] = []
            mine.append(at - begun_at)
            margins[what].append(held.lease_ends_at - at)
    for what, values in seconds.items():
        measure(JobsSucceeded(*what, values, margins[what]))
    measure(EventsAppended({"job": n}))


def tell_ending(held: Held, at: float, ending: Ending, result: Result) -> None:
    """Measure one ending that was committed otherwise."""
    if not is_measured():
        return
    job = held.job
    if isinstance(ending, Interrupted):
        measure(Lost(job.queue, "released"))
        return
    outcome, code = over(job.id, result)
    run = Run(
        queue=job.queue,
        kind=job.kind,
        result=RESULTS[type(ending)],
        seconds=_seconds(held, at),
        margin=held.lease_ends_at - at,
        outcome=outcome,
        code=code,
    )
    measure(RunsSettled([run]))


def tell_lost(held: Held) -> None:
    """Measure an ending that was refused: somebody else has the job, or had it."""
    measure(WriteFenced("settle"))
    if not held.is_lost:
        measure(Lost(held.job.queue, "superseded"))


def over(job: UUID, result: Result) -> tuple[str | None, str | None]:
    """Return how a job is over with what was written, and why it is dead."""
    changes = result.changes if isinstance(result, Written) else ()
    events = (it for each in changes if each.ref.id == job for it in each.events)
    return next((found for it in events if (found := _over(it))), (None, None))


def _over(event: Event) -> tuple[str, str | None] | None:
    match event:
        case Succeeded():
            return "succeeded", None
        case Discarded():
            return "discarded", event.code
        case Cancelled():
            return "cancelled", None
        case _:
            return None


def _seconds(held: Held, at: float) -> float | None:
    return None if held.begun_at is None else max(at - held.begun_at, 0.0)
