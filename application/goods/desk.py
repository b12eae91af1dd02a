"""What both handlers of a delivery share: whose it is, what follows, who goes on.

Whatever is neither over nor in a person's hands has exactly one job that goes on with
it: this one, due again later, or the other one, born in the same transaction.
"""

from dataclasses import dataclass
from typing import Final

from application import births
from application.context import Context
from application.goods.pace import Pace
from application.goods.port import Guards, Providers
from application.goods.subject import GoodsArgs, Story, read_story
from application.policies import goods_key_of, goods_turn_of
from application.ports import Streams
from application.unit import Ids
from domain.event import Instant
from domain.goods.commands import LoseTrack, OpenReview
from domain.goods.resolution import Facts, Lose, next_step
from domain.goods.state import FINAL, Stage
from domain.jobs.aggregate import Enqueue, Job
from domain.jobs.outcome import Completed, Gated, Snooze
from domain.stream import Ref, StreamKind

INTERRUPTED: Final = "interrupted"
LEASE_LOST: Final = "lease_lost"

ENDED: Final = frozenset({*FINAL, Stage.FAILED})
"""Stages in which no job has anything to do."""


def gate_of(slug: str) -> str:
    """Return the gate before one provider of goods."""
    return f"goods:{slug}"


def done(story: Story, ended: str) -> Completed:
    """Return the end of a job with what was told."""
    return Completed(result={"ended": ended}, changes=story.changes())


def later(story: Story, until: Instant, cause: str) -> Snooze:
    """Return the job to its queue with what was told; the attempt is given back."""
    return Snooze(until=until, cause=cause, changes=story.changes())


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """Where both handlers work."""

    streams: Streams
    ids: Ids
    providers: Providers
    guards: Guards
    pace: Pace

    def story(self, kind: str, args: GoodsArgs, ctx: Context) -> Story | str:
        """Return the delivery that the job serves, or why it serves none.

        Anybody may enqueue.  A job that does not take its turn with the others of its
        order, or has another key, must not move what is owed.
        """
        story = read_story(self.streams, args, ctx)
        if story is None:
            return "missing"
        head = self.streams.head(Ref(StreamKind.JOB, ctx.job_id))
        job = None if head is None else head.state
        if not isinstance(job, Job):
            return LEASE_LOST
        is_own = job.unique_key == goods_key_of(kind, story.ref.id)
        takes_turns = job.serial_key == goods_turn_of(story.order)
        return story if is_own and takes_turns else "not_its_job"

    def gated(self, story: Story) -> Gated | None:
        """Return that the provider's gate is closed, if it is."""
        gate = gate_of(story.delivery.provider)
        cause = self.streams.closed_gate(gate)
        if cause is None:
            return None
        return Gated(gate=gate, cause=cause, changes=story.changes())

    def lost(self, story: Story, facts: Facts, now: Instant) -> None:
        """Let what an earlier claim left open be unknown, as it should be already."""
        if isinstance(next_step(story.delivery, facts, now), Lose):
            story.tell(LoseTrack(code=LEASE_LOST, is_sender_gone=False))

    def reviewed(self, story: Story, code: str) -> Completed:
        """Give the delivery to a person."""
        story.tell(OpenReview(code))
        return done(story, story.delivery.stage)

    def handed_over(self, story: Story, kind: str, enqueue: Enqueue) -> Completed:
        """Let the job of `kind` go on, which is born unless it lives already."""
        key = goods_key_of(kind, story.ref.id)
        if self.streams.live_job_with_key(story.tenant_id, key) is not None:
            return done(story, kind)
        return self.born(story, kind, enqueue)

    def born(self, story: Story, kind: str, enqueue: Enqueue) -> Completed:
        """Let a new job of `kind` go on; reads nothing."""
        job = births.enqueued(self.ids, story.tenant_id, enqueue)
        changes = (*story.changes(), job)
        return Completed(result={"ended": kind}, changes=changes)
