"""What a person's word changes, decided once the heads are locked; pure."""

from dataclasses import dataclass
from typing import Final

import msgspec

from application import births
from application.policies import GOODS_DELIVERY
from application.unit import Locked, Refused, Versions, changed, is_seen
from domain.errors import IllegalTransitionError
from domain.event import Actor, Instant
from domain.goods import aggregate as deliveries
from domain.goods.commands import Decide
from domain.goods.events import DecisionProposed
from domain.goods.state import GoodsDelivery, Stage
from domain.jobs.aggregate import Job
from domain.jobs.aggregate import Stage as JobStage
from domain.stream import Change, Ref

GONE: Final = Refused("gone")
BUSY: Final = Refused("job_running")
"""Its job runs: it may have seen the review, and be about to end."""
VERSION_CHANGED: Final = Refused("version_changed")
STAGE: Final = "stage_"
"""Refusals begin with this when the delivery is in no review."""


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """What a person says about one delivery, as it was said."""

    delivery: str
    verdict: str
    evidence: str
    """What shows it: a statement of the provider, a receipt, the recipient's word."""
    files: tuple[str, ...] = ()
    """SHA-256 of files that were added to the delivery, in hexadecimal digits."""
    is_override: bool = False
    """Whether the owner takes it on himself that a sender may still be about to ask."""
    versions: Versions = None
    """Those that were looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One word of one person about one delivery."""

    delivery: Ref
    born: Ref
    """The job that may be born by it."""
    live: Ref | None
    """The job that would buy it, from before the review; mostly there is none."""
    said: Said
    by: Actor
    four_eyes: bool

    @property
    def refs(self) -> tuple[Ref, ...]:
        """The heads to lock."""
        return (self.delivery, self.born, *(() if self.live is None else (self.live,)))

    def __call__(self, locked: Locked, now: Instant) -> tuple[Change, ...] | Refused:
        """Return the change of the delivery, and the job that follows."""
        said, head = self.said, locked.get(self.delivery)
        state = None if head is None else head.state
        if head is None or not isinstance(state, GoodsDelivery):
            return GONE
        if state.stage is not Stage.NEEDS_REVIEW:
            return Refused(STAGE + state.stage)
        if not is_seen(said.versions, state.version):
            return VERSION_CHANGED
        wish, word = state.proposal, (self.by, said.verdict, said.evidence)
        if wish is not None and (wish.by, wish.verdict, wish.evidence) == word:
            return ()
        try:
            events = deliveries.decide(state, self._command())
        except IllegalTransitionError as error:
            return Refused(error.code)
        change = changed(self.delivery, head, events, deliveries.fold(events, state))
        return self._with_job(change, locked, now)

    def proposes(self, state: GoodsDelivery) -> bool:
        """Return whether it is a proposal, of a delivery that stands so."""
        try:
            events = deliveries.decide(state, self._command())
        except IllegalTransitionError:
            return False
        return any(isinstance(event, DecisionProposed) for event in events)

    def _command(self) -> Decide:
        return Decide(
            verdict=self.said.verdict,
            evidence=self.said.evidence,
            by=self.by,
            is_override=self.said.is_override,
            needs_second=self.four_eyes,
        )

    def _with_job(
        self, change: Change, locked: Locked, now: Instant
    ) -> tuple[Change, ...] | Refused:
        """Return the change with the job that follows from it, once.

        A job that waits since before the review buys when it runs.  One that runs may
        have seen the review, and be about to end: then nobody would buy.
        """
        ids = iter((self.born.id,))
        following = births.after_delivery(lambda: next(ids), change, now)
        head = None if self.live is None else locked.get(self.live)
        job = None if head is None else head.state
        if not isinstance(job, Job) or not any(map(_buys, following)):
            return (change, *following)
        return (change,) if job.stage is JobStage.WAITING else BUSY


def _buys(born: Change) -> bool:
    return isinstance(born.state, Job) and born.state.kind == GOODS_DELIVERY
