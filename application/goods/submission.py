"""Transaction 1 of a purchase: may the provider be asked, and what is recorded first.

                ┌─ not ours, cancelled, not its job … ─► refused, nothing is written
 locked heads ─►┼─ the delivery has moved on ──────────► refused: read it anew
                ├─ the rules or the database say no ───► refused, with their code
                └─ otherwise ──────────────────────────► purchase_submitted

The database refuses once more what spends money that must not be spent now (an
installation in quarantine, a limit that is reached), under locks of its own: its code
comes back as a refusal of the group.  Nothing is asked of the provider before the
answer to the COMMIT was seen, or the submission itself was, by its commit id.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from application.goods.port import Capabilities, WhoSends
from application.goods.subject import Story
from application.policies import GOODS_DELIVERY, goods_key_of
from application.unit import Head, Locked, Refused, Written, changed
from domain.errors import IllegalTransitionError
from domain.event import Instant
from domain.goods import aggregate
from domain.goods.commands import Submit
from domain.goods.events import Sender
from domain.goods.state import GoodsDelivery
from domain.jobs.aggregate import Job, holder
from domain.stream import Change, Ref

LEASE_LOST: Final = Refused("lease_lost")
CANCEL_REQUESTED: Final = Refused("cancel_requested")
STRANGER: Final = Refused("not_its_job")
"""The job is not the one that was born with the delivery; anybody may enqueue."""

MOVED: Final = Refused("moved")
"""Somebody else has changed the delivery; read it again."""


@dataclass(frozen=True, slots=True)
class Submission:
    """Decides about one purchase once the heads are locked; pure."""

    story: Story
    job: Ref
    token: int
    seconds: float
    """After so long the sender gives up."""
    capabilities: Capabilities
    who_sends: WhoSends

    @property
    def refs(self) -> tuple[Ref, ...]:
        """The heads that this decision looks at or changes."""
        return (self.story.ref, self.job)

    def __call__(self, locked: Locked, now: Instant) -> tuple[Change, ...] | Refused:
        """Return the submission, or why there is none."""
        job = locked.get(self.job)
        if job is None or not isinstance(job.state, Job):
            return LEASE_LOST
        if not holder(job.state, self.token) or job.state.owner is None:
            return LEASE_LOST
        if job.state.cancel_requested:
            return CANCEL_REQUESTED
        head = locked.get(self.story.ref)
        if head is None or head.tenant_id != job.tenant_id:
            return STRANGER
        if job.state.unique_key != goods_key_of(GOODS_DELIVERY, self.story.ref.id):
            return STRANGER
        delivery = head.state
        if not isinstance(delivery, GoodsDelivery):
            return STRANGER
        if delivery.version != self.story.delivery.version:
            return MOVED
        submit = self._submit(now, self.who_sends(job.state.owner.boot))
        try:
            events = aggregate.decide(delivery, submit)
        except IllegalTransitionError as error:
            return Refused(error.code)
        state = aggregate.fold(events, delivery)
        return (changed(self.story.ref, head, events, state),)

    def _submit(self, now: Instant, sender: Sender) -> Submit:
        asked = self.capabilities
        deadline = now + timedelta(seconds=self.seconds)
        return Submit(
            at=now,
            token=self.token,
            deadline=deadline,
            expires_at=None if asked.expiry is None else now + asked.expiry,
            repeat_until=(
                None if asked.key_lifetime is None else now + asked.key_lifetime
            ),
            sender=sender,
        )


def submitted(story: Story, written: Written) -> Story:
    """Return the delivery as transaction 1 has left it."""
    for change in written.changes:
        if change.ref == story.ref and isinstance(change.state, GoodsDelivery):
            head = Head(
                tenant_id=change.tenant_id,
                state=change.state,
                correlation_id=story.head.correlation_id,
            )
            return Story(story.ref, head, change.state)
    msg = "a submission that was written is missing"
    raise AssertionError(msg)
