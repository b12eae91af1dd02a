"""Ask a provider what became of a purchase; nothing is ever bought here.

 bought             ► delivered
 taken              ► asked again later, until it is delivered
 refused            ► another decision to buy, or the money back
 not known to it    ► conclusive: likewise
                      not: bought again under the same key where that has one effect,
                      or asked again when it will be conclusive, or a person
 no clear answer    ► asked again later, and after a day a person

Whether an absence is conclusive is found out before the provider is asked: who ends
while it answers may have asked in the meantime.
"""

from dataclasses import dataclass
from typing import Final, assert_never

from application.context import Context
from application.goods import asking
from application.goods.desk import ENDED, INTERRUPTED, Desk, done, later
from application.goods.port import (
    Absent,
    Accepted,
    Confirmed,
    GoodsProvider,
    LookupAnswer,
    Rejected,
    Unconfigured,
    Unknown,
    Unsent,
)
from application.goods.subject import GoodsArgs, Story
from application.policies import GOODS_DELIVERY, GOODS_RECONCILE, deliver, goods_key_of
from domain.event import Instant
from domain.goods.answers import (
    ABSENT,
    FOUND_ACCEPTED,
    FOUND_DELIVERED,
    FOUND_REFUSED,
    UNCLEAR,
)
from domain.goods.commands import Reconcile
from domain.goods.resolution import (
    Facts,
    Finding,
    LookUp,
    Repeat,
    Review,
    Step,
    WaitUntil,
    absence_is_conclusive,
    absence_is_proved,
    after_absence,
    backoff,
    found_of,
    look_up,
    next_step,
)
from domain.goods.state import Stage, Standing, key_of
from domain.jobs.outcome import Completed, Outcome

OUT_OF_PATIENCE: Final = "no_answer_in_time"
"""Code of a review: the provider gave no clear answer for a day."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReconcileGoods:
    """Handles jobs of kind `goods_reconcile`."""

    desk: Desk

    def __call__(self, args: GoodsArgs, ctx: Context) -> Outcome:
        """Return what is known of the delivery after one look."""
        story = self.desk.story(GOODS_RECONCILE, args, ctx)
        if isinstance(story, str):
            return Completed(result={"ended": story})
        stage = story.delivery.stage
        if stage in ENDED:
            return done(story, stage)
        now = self.desk.streams.clock()
        if stage is Stage.PENDING:
            return self._bought_again(story, now)
        if ctx.seconds_left <= 0:
            return later(story, now, INTERRUPTED)
        if stage is Stage.SUBMITTED and self._is_bought_for(story):
            return done(story, GOODS_DELIVERY)
        provider = self.desk.providers.find(story.tenant_id, story.delivery.provider)
        if isinstance(provider, Unconfigured) and provider.asked is not None:
            provider = provider.asked
        if isinstance(provider, Unconfigured):
            if stage is Stage.NEEDS_REVIEW:
                return done(story, provider.code)
            return later(
                story, self.desk.pace.next_look(story.delivery, now), provider.code
            )
        return self._with_provider(story, provider, ctx, now)

    def _with_provider(
        self, story: Story, provider: GoodsProvider, ctx: Context, now: Instant
    ) -> Outcome:
        facts = asking.facts_of(provider.capabilities)
        self.desk.lost(story, facts, now)
        step: Step
        if story.delivery.stage is Stage.NEEDS_REVIEW:
            step = look_up(story.delivery, facts, now) or Review(UNCLEAR)
        else:
            step = next_step(story.delivery, facts, now)
        match step:
            case LookUp():
                gated = self.desk.gated(story)
                return gated or self._looked_up(story, provider, step, ctx, now)
            case Review() if story.delivery.stage is Stage.NEEDS_REVIEW:
                return done(story, "lookup_unsupported")
            case Repeat() | WaitUntil() | Review():
                return self._after(story, step, now)
            case _:
                return done(story, story.delivery.stage)

    def _looked_up(
        self,
        story: Story,
        provider: GoodsProvider,
        look: LookUp,
        ctx: Context,
        now: Instant,
    ) -> Outcome:
        findings, answers = list[Finding](), list[LookupAnswer]()
        facts = asking.facts_of(provider.capabilities)
        for decision in look.decisions:
            delivery = story.delivery
            key = key_of(story.order, delivery.line, decision)
            reference = delivery.reference if decision == delivery.decision else None
            answer = asking.look_up(provider, key, reference, ctx)
            self.desk.guards.record(story.tenant_id, delivery.provider, answer)
            if isinstance(answer, Unsent):
                return self._cut_short(story, answer, now, is_begun=bool(answers))
            findings.append(_finding(decision, answer))
            answers.append(answer)
        told_at = _told_at(answers)
        is_proved = absence_is_proved(story.delivery, facts, look, told_at)
        return self._found(story, facts, findings, now, is_conclusive=is_proved)

    def _cut_short(
        self, story: Story, unsent: Unsent, now: Instant, *, is_begun: bool
    ) -> Outcome:
        """Ask again: at once, unless it answers too slowly for all keys of a run."""
        if not is_begun:
            return later(story, now, unsent.cause)
        is_open = story.delivery.stage is Stage.SUBMITTED
        if is_open and self.desk.pace.is_out_of_patience(story.delivery, now):
            return self.desk.reviewed(story, OUT_OF_PATIENCE)
        return later(story, self.desk.pace.next_look(story.delivery, now), unsent.cause)

    def _found(
        self,
        story: Story,
        facts: Facts,
        findings: list[Finding],
        now: Instant,
        *,
        is_conclusive: bool,
    ) -> Outcome:
        finding = found_of(story.delivery, findings)
        reconcile = Reconcile(
            decision=finding.decision,
            found=finding.found,
            reference=finding.reference,
            code=finding.code,
            is_conclusive=is_conclusive,
            next_at=self.desk.pace.next_purchase(story.delivery, now),
            failure_class=finding.failure_class,
        )
        story.tell(reconcile)
        delivery = story.delivery
        if delivery.stage is not Stage.SUBMITTED:
            return done(story, delivery.stage)
        if finding.found == ABSENT:
            step = after_absence(delivery, facts, now)
            is_due = absence_is_conclusive(delivery, facts, now)
            if not is_due or not isinstance(step, WaitUntil):
                return self._after(story, step, now)
            # By our clock nothing can be bought any more, by the provider's it can.
        is_taken = delivery.standing is Standing.ACCEPTED
        if self.desk.pace.is_out_of_patience(delivery, now):
            return self.desk.reviewed(story, OUT_OF_PATIENCE)
        cause = delivery.standing if is_taken else finding.code or finding.found
        return later(story, self.desk.pace.next_look(delivery, now), cause)

    def _after(
        self, story: Story, step: Repeat | WaitUntil | Review, now: Instant
    ) -> Outcome:
        match step:
            case Repeat():
                pause = backoff(story.delivery.purchases, self.desk.pace.base)
                enqueue = deliver(story.ref.id, story.order, now + pause)
                return self.desk.handed_over(story, GOODS_DELIVERY, enqueue)
            case WaitUntil(at=at):
                return later(story, at, story.delivery.code or UNCLEAR)
            case Review(code=code):
                return self.desk.reviewed(story, code)
            case _:
                assert_never(step)

    def _is_bought_for(self, story: Story) -> bool:
        """Whether the job that buys lives, and asks for a look when it needs one."""
        key = goods_key_of(GOODS_DELIVERY, story.ref.id)
        return self.desk.streams.live_job_with_key(story.tenant_id, key) is not None

    def _bought_again(self, story: Story, now: Instant) -> Outcome:
        """Let the job that buys go on: somebody has told meanwhile that it may."""
        due = max(story.delivery.next_at or now, now)
        enqueue = deliver(story.ref.id, story.order, due)
        return self.desk.handed_over(story, GOODS_DELIVERY, enqueue)


def _told_at(answers: list[LookupAnswer]) -> Instant | None:
    """Return the provider's own clock when it began to answer, if it always told."""
    told = [it.at for it in answers if isinstance(it, Absent) and it.at is not None]
    return min(told) if told and len(told) == len(answers) else None


def _finding(
    decision: int, answer: Confirmed | Accepted | Rejected | Absent | Unknown
) -> Finding:
    match answer:
        case Confirmed(reference=reference):
            return Finding(
                decision=decision, found=FOUND_DELIVERED, reference=reference
            )
        case Accepted(reference=reference):
            return Finding(decision=decision, found=FOUND_ACCEPTED, reference=reference)
        case Rejected():
            return Finding(
                decision=decision,
                found=FOUND_REFUSED,
                code=answer.code,
                failure_class=answer.failure_class,
            )
        case Absent():
            return Finding(decision=decision, found=ABSENT)
        case Unknown(code=code):
            return Finding(decision=decision, found=UNCLEAR, code=code)
        case _:
            assert_never(answer)
