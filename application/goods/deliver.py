"""Buy one line of goods: record the submission, ask, return what follows.

 transaction 1           no transaction                   the settler's transaction
 purchase_submitted ───► journal ─► guard ─► provider ───► what it said, and the job
   └ refused: nothing is asked        └ not one byte left: withdrawn

At most one effect follows from one decision to buy, whatever dies on the way.  The
provider is asked only after its submission was seen on record; and whoever cannot say
that the provider was not asked, says that it is unknown.  After the answer nothing is
read any more, so that no other failure can lose it.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, assert_never

from application.context import Context
from application.goods import asking
from application.goods.desk import ENDED, INTERRUPTED, Desk, done, later
from application.goods.pace import UNCONFIGURED_WAIT
from application.goods.port import (
    Accepted,
    Confirmed,
    GoodsProvider,
    Journal,
    Rejected,
    SubmitAnswer,
    Unavailable,
    Unconfigured,
    Unknown,
    Unsent,
    WhoSends,
)
from application.goods.subject import GoodsArgs, Story
from application.goods.submission import (
    CANCEL_REQUESTED,
    LEASE_LOST,
    MOVED,
    STRANGER,
    Submission,
    submitted,
)
from application.policies import GOODS_DELIVERY, GOODS_RECONCILE, reconcile
from application.unit import (
    Group,
    Refused,
    Result,
    UnitOfWork,
    Unstorable,
)
from domain.event import Actor, Causation, Instant, Meta
from domain.goods.commands import Accept, Confirm, Defer, LoseTrack, Refuse, Withdraw
from domain.goods.resolution import (
    Buy,
    Facts,
    LookUp,
    Lose,
    Nothing,
    Repeat,
    Review,
    WaitUntil,
    backoff,
    next_step,
)
from domain.goods.state import GoodsDelivery, Stage, total_cost
from domain.jobs.outcome import Cancel, Completed, Fail, Outcome, Snooze
from domain.stream import Ref, StreamKind

ROUNDS: Final = 3
"""How often the delivery is read anew when others move it meanwhile."""

UNCONFIGURED: Final = "provider_unconfigured"
JOURNAL: Final = "journal_unwritable"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliverGoods:
    """Handles jobs of kind `goods_delivery`."""

    desk: Desk
    units: UnitOfWork
    journal: Journal
    who_sends: WhoSends
    actor: Actor
    """The worker, as the log names it."""
    clock: Callable[[], float] = time.monotonic

    def __call__(self, args: GoodsArgs, ctx: Context) -> Outcome:
        """Return what became of the delivery after at most one purchase."""
        for _ in range(ROUNDS):
            story = self.desk.story(GOODS_DELIVERY, args, ctx)
            if isinstance(story, str):
                return Completed(result={"ended": story})
            outcome = self._looked_at(story, ctx)
            if outcome is not None:
                return outcome
        return Snooze(until=self.desk.streams.clock(), cause=MOVED.code)

    def _looked_at(self, story: Story, ctx: Context) -> Outcome | None:
        """Return what is done about the delivery; None: it moved meanwhile."""
        delivery = story.delivery
        if delivery.stage in ENDED or delivery.stage is Stage.NEEDS_REVIEW:
            return done(story, delivery.stage)
        now = self.desk.streams.clock()
        if ctx.seconds_left <= 0:
            return later(story, now, INTERRUPTED)
        provider = self.desk.providers.find(story.tenant_id, delivery.provider)
        facts = _facts(provider)
        self.desk.lost(story, facts, now)
        if isinstance(provider, Unconfigured):
            return self._without_provider(story, provider, now)
        step = next_step(story.delivery, facts, now)
        if not isinstance(step, Buy | Repeat):
            return self._outcome(story, facts, now, is_answered=False)
        if story.told:
            return later(story, now, INTERRUPTED)
        return self._bought(story, provider, ctx, now)

    def _without_provider(
        self, story: Story, provider: Unconfigured, now: Instant
    ) -> Outcome:
        """Wait until it is configured; nothing open goes to a person for that."""
        facts, again = _facts(provider.asked), now + UNCONFIGURED_WAIT
        is_open = story.delivery.stage is not Stage.PENDING
        if is_open and provider.asked is None:
            return later(story, again, provider.code)
        match next_step(story.delivery, facts, now):
            case Buy():
                return _deferred(story, provider.code, again)
            case Repeat():
                return later(story, again, provider.code)
            case _:
                return self._outcome(story, facts, now, is_answered=False)

    def _bought(
        self, story: Story, provider: GoodsProvider, ctx: Context, now: Instant
    ) -> Outcome | None:
        gated = self.desk.gated(story)
        if gated is not None:
            return gated
        delivery = story.delivery
        # What is asked for again is spent already, in the eyes of any limit.
        is_new = delivery.stage is Stage.PENDING
        barred = self.desk.guards.barring(
            story.tenant_id, delivery.provider, total_cost(delivery) if is_new else 0
        )
        if barred is not None:
            return _deferred(story, barred.code, barred.until)
        begun = self.clock()
        result = self._submitted(story, provider, ctx)
        if result == MOVED:
            return None
        if isinstance(result, Refused | Unstorable):
            return _not_submitted(story, result, now)
        story = submitted(story, result)
        return self._asked(story, provider, ctx, lambda: now + self._since(begun))

    def _since(self, begun: float) -> timedelta:
        return timedelta(seconds=self.clock() - begun)

    def _submitted(self, story: Story, provider: GoodsProvider, ctx: Context) -> Result:
        submission = Submission(
            story=story,
            job=Ref(StreamKind.JOB, ctx.job_id),
            token=ctx.token,
            seconds=ctx.seconds_left,
            capabilities=provider.capabilities,
            who_sends=self.who_sends,
        )
        meta = Meta(
            actor=self.actor,
            correlation_id=ctx.correlation_id,
            causation=Causation(job=ctx.job_id, token=ctx.token),
        )
        group = Group(refs=submission.refs, decide=submission, meta=meta)
        (result,) = self.units.commit([group])
        return result

    def _asked(
        self,
        story: Story,
        provider: GoodsProvider,
        ctx: Context,
        now: Callable[[], Instant],
    ) -> Outcome:
        """Ask; from here on everything that is not an answer is unknown."""
        delivery = story.delivery
        try:
            self.journal.write(delivery.key or "", delivery.purchases)
        except OSError:
            story.tell(Withdraw(JOURNAL))
            return later(story, now() + UNCONFIGURED_WAIT, JOURNAL)
        answer = asking.submit(provider, asking.purchase_of(delivery), ctx)
        self.desk.guards.record(story.tenant_id, delivery.provider, answer)
        facts = asking.facts_of(provider.capabilities)
        self._tell(story, answer, facts, now())
        return self._outcome(story, facts, now(), is_answered=True)

    def _tell(
        self, story: Story, answer: SubmitAnswer, facts: Facts, now: Instant
    ) -> None:
        decision = story.delivery.decision
        match answer:
            case Confirmed():
                story.tell(Confirm(decision=decision, reference=answer.reference))
            case Accepted():
                due = self.desk.pace.next_look(story.delivery, now)
                accept = Accept(
                    decision=decision,
                    reference=answer.reference,
                    next_at=due if facts.can_look_up else None,
                    is_answer=True,
                )
                story.tell(accept)
            case Rejected() | Unavailable():
                story.tell(self._refused(story.delivery, answer, now))
            case Unknown():
                story.tell(LoseTrack(code=answer.code, is_sender_gone=True, at=now))
            case Unsent():
                story.tell(Withdraw(answer.cause))
            case _:
                assert_never(answer)

    def _refused(
        self, delivery: GoodsDelivery, answer: Rejected | Unavailable, now: Instant
    ) -> Refuse:
        wish = answer.retry_after_seconds if isinstance(answer, Unavailable) else None
        return Refuse(
            decision=delivery.decision,
            failure_class=answer.failure_class,
            code=answer.code,
            next_at=self.desk.pace.next_purchase(delivery, now, wish),
            is_answer=True,
        )

    def _outcome(
        self, story: Story, facts: Facts, now: Instant, *, is_answered: bool
    ) -> Outcome:
        """Return what the job does now; after an answer nothing is read."""
        delivery = story.delivery
        cause = delivery.code or delivery.standing
        match next_step(delivery, facts, now):
            case Buy():
                return later(story, now, cause)
            case Repeat():
                pause = backoff(delivery.purchases, self.desk.pace.base)
                return later(story, now + pause, cause)
            case WaitUntil(at=at):
                return later(story, at, cause)
            case LookUp():
                enqueue = reconcile(story.ref.id, story.order, now)
                hand_over = self.desk.born if is_answered else self.desk.handed_over
                return hand_over(story, GOODS_RECONCILE, enqueue)
            case Review(code=code):
                return self.desk.reviewed(story, code)
            case Lose() | Nothing():
                return done(story, delivery.stage)


def _facts(provider: GoodsProvider | Unconfigured | None) -> Facts:
    if provider is None or isinstance(provider, Unconfigured):
        return Facts()
    return asking.facts_of(provider.capabilities)


def _deferred(story: Story, code: str, until: Instant) -> Outcome:
    """Buy nothing for now; on record once in an episode of one code."""
    if story.delivery.stage is Stage.PENDING:
        story.tell(Defer(code=code, until=until))
    return later(story, until, code)


def _not_submitted(story: Story, result: Refused | Unstorable, now: Instant) -> Outcome:
    if isinstance(result, Unstorable):
        return Fail(code="unstorable_result", error=result.error)
    match result:
        case _ if result == CANCEL_REQUESTED:
            return Cancel(code="operator")
        case _ if result == LEASE_LOST:
            # After a lost lease the settler refuses this as well, by the token.
            return later(story, now, result.code)
        case _ if result == STRANGER:
            return done(story, result.code)
        case _:
            return _deferred(story, result.code, now + UNCONFIGURED_WAIT)
