"""In what the panel differs is on record before it is repaired.

Whatever happens afterwards, a crash or an answer that is lost, the log says what was
found.  It is written only while the job is ours: somebody who has lost it may have
read the panel in the middle of what its new holder does.
"""

from dataclasses import dataclass

from application.fulfillment.begin import CANCEL_REQUESTED, LEASE_LOST, MISSING
from application.fulfillment.changes import detection
from application.unit import Locked, Refused
from domain.entitlement.state import Drift
from domain.event import Instant
from domain.jobs.aggregate import Job, holder
from domain.stream import Change, Ref


@dataclass(frozen=True, slots=True)
class Detection:
    """Decides about what was found once the heads are locked; pure."""

    entitlement: Ref
    job: Ref
    token: int
    drifts: tuple[Drift, ...]

    @property
    def refs(self) -> tuple[Ref, ...]:
        """The heads that this decision looks at or changes."""
        return (self.entitlement, self.job)

    def __call__(self, locked: Locked, _now: Instant) -> tuple[Change, ...] | Refused:
        """Return what is new of it, or why it is not written."""
        held, owner = locked.get(self.job), locked.get(self.entitlement)
        job = None if held is None else held.state
        if not isinstance(job, Job) or not holder(job, self.token):
            return LEASE_LOST
        if job.cancel_requested:
            return CANCEL_REQUESTED
        if owner is None:
            return MISSING
        detected = detection(self.entitlement, owner, self.drifts)
        return () if detected is None else (detected,)
