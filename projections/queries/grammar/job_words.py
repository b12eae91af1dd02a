"""The states of a job as surfaces call them: River's words, and a shop's.

    inside                    /v1/admin, /v1/panel             /v1
    waiting, due              available                        queued
    waiting, not due          scheduled                        queued
    waiting, after a failure  retryable                        queued
    waiting, parked           scheduled                        queued
    running                   running                          running
    succeeded                 completed                        succeeded
    discarded                 discarded                        failed
    cancelled                 cancelled                        cancelled

What a job is called and what is found by that word is the same: `river` and `RIVER`.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final, Protocol

from domain.event import Instant
from projections.queries.grammar.vocabulary import Meaning, Meanings, plain
from projections.queries.terms import Among, Between, Missing

DEAD_LETTER: Final = "dead_letter"
"""What is dead: discarded or cancelled."""

_WAITING: Final = "waiting"
_AFTER_NOW: Final = timedelta(microseconds=-1)
_AT_NO_GATE: Final = Missing("cause")

RIVER: Final[Mapping[str, Meanings]] = {
    "available": (
        Meaning(_WAITING, ((_AT_NO_GATE, Between("scheduled_at", below=_AFTER_NOW)),)),
    ),
    "scheduled": (
        Meaning(
            _WAITING,
            (
                (Among("cause", ("parked",)),),
                (_AT_NO_GATE, Between("scheduled_at", least=_AFTER_NOW)),
            ),
        ),
    ),
    "retryable": (Meaning(_WAITING, ((Among("cause", ("after_failure",)),),)),),
    "running": (Meaning("running"),),
    "completed": (Meaning("succeeded"),),
    "discarded": (Meaning("discarded"),),
    "cancelled": (Meaning("cancelled"),),
    DEAD_LETTER: (Meaning("discarded"), Meaning("cancelled")),
}

SHOP: Final[Mapping[str, Meanings]] = {
    "queued": (Meaning(_WAITING),),
    **plain("running", "succeeded", "cancelled"),
    "failed": (Meaning("discarded"),),
}


class HasState(Protocol):
    """What of a job tells its state."""

    @property
    def state(self) -> str:
        """See `JobRow.state`."""
        ...

    @property
    def cause(self) -> str | None:
        """See `JobRow.cause`."""
        ...

    @property
    def run_at(self) -> Instant | None:
        """See `JobRow.run_at`."""
        ...


def river(job: HasState, now: datetime) -> str:
    """Return what operators call the state of a job."""
    match job.state, job.cause:
        case "waiting", "after_failure":
            return "retryable"
        case "waiting", "parked":
            return "scheduled"
        case "waiting", _:
            is_due = job.run_at is not None and job.run_at <= now
            return "available" if is_due else "scheduled"
        case "succeeded", _:
            return "completed"
        case state, _:
            return state


def shop(job: HasState) -> str:
    """Return what shops call the state of a job."""
    return {"waiting": "queued", "discarded": "failed"}.get(job.state, job.state)
