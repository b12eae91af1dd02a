"""Decide a review: what became of a purchase whose end nobody here knows.

delivered      the recipient has it                        ──► delivered ■
not_purchased  nothing was bought; the money goes back     ──► refunded ■
buy_again      nothing was bought; another decision to buy ──► pending, and its job

Nothing but `delivered` is possible while somebody who has asked the provider may still
be about to, unless the owner takes it on himself.  Where two people are wanted, the
first one's "buy again" is a proposal, and another one's is the decision.

The same person's same word about the same evidence is a repetition, whatever has come
of it; evidence is about one purchase, so buying once more needs evidence of its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final
from uuid import UUID

import msgspec

from application import births
from application.errors import (
    ApplicationError,
    DecisionRefusedError,
    ReviewDecidedError,
    StateConflictError,
)
from application.operators.deliveries.found import (
    DELIVERY,
    Found,
    Reviews,
    find_delivery,
)
from application.operators.instruction import Instruction, as_given
from application.operators.refusals import About, Refusals, about_nothing
from application.ports import Streams
from application.unit import Group, Ids, Locked, Refused, UnitOfWork, Written, changed
from domain.errors import DomainError, IllegalTransitionError, InvalidRequestError
from domain.event import Instant
from domain.goods import aggregate as deliveries
from domain.goods.commands import Decide
from domain.goods.review import VERDICTS
from domain.goods.state import GoodsDelivery, Stage
from domain.operators.events import ActionRefused
from domain.stream import Change, Ref, StreamKind
from domain.text import clean, storable

ACTION: Final = "decide_delivery"

SHORTEST_EVIDENCE: Final = 3
LONGEST_EVIDENCE: Final = 2_000

VERSION_CHANGED: Final = "version_changed"

_ROUNDS: Final = 3
_GONE: Final = Refused("gone")
_CONFLICT: Final = Refused("conflict")
_STAGE: Final = "stage_"


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """What a person says about one delivery, as it was said."""

    delivery: str
    verdict: str
    evidence: str
    """What shows it: a statement of the provider, a receipt, the recipient's word."""
    is_override: bool = False
    """Whether the owner takes it on himself that a sender may still be about to ask."""
    version: int | None = None
    """The version that was looked at; None: whichever it is."""


class Decided(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Where a delivery stands after a person's word."""

    delivery_id: UUID
    verdict: str
    state: str
    proposed_by: str | None
    """Who has proposed what another person has to agree to; None: it is decided."""
    job_id: UUID | None
    """The job that was born, which buys or sees what is left of the order."""
    events: tuple[str, ...]
    """Tags of the events that were written; none: it was so already."""
    position: int
    """A reader at this position of the log sees them, or that it was so already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecideReview:
    """Decides reviews on behalf of people."""

    streams: Streams
    reviews: Reviews
    units: UnitOfWork
    ids: Ids
    four_eyes: bool
    """Whether buying again needs a second person."""

    def __call__(self, said: Said, instruction: Instruction) -> Decided:
        """Return what was decided, or proposed.

        Raises:
            InvalidRequestError: the verdict is none, or there is no evidence.
            NotFoundError: there is no such delivery.
            ReviewDecidedError: somebody has decided it, and says who and when.
            DecisionRefusedError: it is barred, or needs another person.
            StateConflictError: it is not in review.
            DatabaseUnavailableError: nothing is known to be done.
        """
        try:
            return self._decided(_read(said), instruction)
        except (ApplicationError, DomainError) as error:
            target = as_given(said.delivery)
            refused = ActionRefused(action=ACTION, target=target, code=error.code)
            about = self._about(said.delivery)
            Refusals(self.units, self.ids).record(refused, instruction, about)
            raise

    def _about(self, key: str) -> About:
        try:
            head = find_delivery(self.streams, key).head
        except ApplicationError:
            return about_nothing(key)
        return About(head.tenant_id, head.correlation_id)

    def _decided(self, said: Said, instruction: Instruction) -> Decided:
        for _ in range(_ROUNDS):
            found = find_delivery(self.streams, said.delivery)
            if self._is_repeated(found, said, instruction):
                return self._told(found, said)
            born = self.ids()
            group = Group(
                refs=(found.ref, Ref(StreamKind.JOB, born)),
                decide=partial(self._change, found.ref, said, instruction, born),
                meta=instruction.meta(found.head.correlation_id),
            )
            (result,) = self.units.commit([group])
            if isinstance(result, Written):
                return self._told(found, said, result)
            if result in (_GONE, _CONFLICT) or not isinstance(result, Refused):
                continue
            # Whoever was first may have been the same person, with the same word.
            found = find_delivery(self.streams, said.delivery)
            if self._is_repeated(found, said, instruction):
                return self._told(found, said)
            raise self._refusal(found, result.code)
        raise StateConflictError(DELIVERY, said.delivery, "changing", "ask again")

    def _is_repeated(self, found: Found, said: Said, instruction: Instruction) -> bool:
        last = self.reviews.last_decision(found.ref.id)
        return last is not None and (last.by, last.verdict, last.evidence) == (
            instruction.actor,
            said.verdict,
            said.evidence,
        )

    def _change(  # noqa: PLR0913, PLR0917 - all but the last two are bound beforehand
        self,
        ref: Ref,
        said: Said,
        instruction: Instruction,
        born: UUID,
        locked: Locked,
        now: Instant,
    ) -> tuple[Change, ...] | Refused:
        head = locked.get(ref)
        state = None if head is None else head.state
        if head is None or not isinstance(state, GoodsDelivery):
            return _GONE
        if state.stage is not Stage.NEEDS_REVIEW:
            return Refused(_STAGE + state.stage)
        if said.version not in (None, state.version):
            return Refused(VERSION_CHANGED)
        mine = state.proposal
        if mine is not None and (mine.by, mine.verdict, mine.evidence) == (
            instruction.actor,
            said.verdict,
            said.evidence,
        ):
            return ()
        command = Decide(
            verdict=said.verdict,
            evidence=said.evidence,
            by=instruction.actor,
            is_override=said.is_override,
            needs_second=self.four_eyes,
        )
        try:
            events = deliveries.decide(state, command)
        except IllegalTransitionError as error:
            return Refused(error.code)
        change = changed(ref, head, events, deliveries.fold(events, state))
        ids = iter((born,))
        return (change, *births.after_delivery(lambda: next(ids), change, now))

    def _refusal(self, found: Found, code: str) -> ApplicationError:
        state, key = found.state, str(found.ref.id)
        if code.startswith(_STAGE):
            last = self.reviews.last_decision(found.ref.id)
            if last is None:
                remedy = _remedy(state.stage)
                return StateConflictError(DELIVERY, key, state.stage, remedy)
            return ReviewDecidedError(
                key, verdict=last.verdict, by=last.by.id, at=last.at, state=state.stage
            )
        return DecisionRefusedError(code, key, self._why(code, found))

    def _why(self, code: str, found: Found) -> str:
        match code:
            case "sender_not_gone":
                who = ", ".join(_senders(found.state))
                return (
                    f"who has asked the provider may still be about to ({who}): wait "
                    "until that process is known to be dead, or ask the provider with "
                    "`counterfoil deliveries reconcile`; the owner may take it on "
                    "himself with --override"
                )
            case "second_person_required":
                last = self.reviews.last_proposal(found.ref.id)
                by = "you" if last is None else f"{last.by.id} at {_at(last.at)}"
                return f"proposed by {by}: another person has to agree to buying again"
            case "purchases_spent":
                return "its six purchases are spent: decide delivered or not_purchased"
            case _:
                return (
                    f"it is at version {found.state.version} by now: look at it again "
                    f"with `counterfoil deliveries show {found.ref.id}`"
                )

    def _told(
        self, found: Found, said: Said, written: Written | None = None
    ) -> Decided:
        changes = () if written is None else written.changes
        state = find_delivery(self.streams, str(found.ref.id)).state
        jobs = [each.ref.id for each in changes if each.ref.kind is StreamKind.JOB]
        proposal = state.proposal if state.stage is Stage.NEEDS_REVIEW else None
        return Decided(
            delivery_id=found.ref.id,
            verdict=said.verdict,
            state=state.stage,
            proposed_by=None if proposal is None else proposal.by.id,
            job_id=jobs[0] if jobs else None,
            events=tuple(event.tag for each in changes for event in each.events),
            position=(
                written.position
                if written is not None and written.position
                else self.streams.last_position([found.ref.id])
            ),
        )


def _read(said: Said) -> Said:
    """Return what was said, as it is stored.

    Raises:
        InvalidRequestError: the verdict is none, or there is no evidence.
    """
    if said.verdict not in VERDICTS:
        rule = f"one of {', '.join(VERDICTS)}"
        code = "unknown_verdict"
        raise InvalidRequestError(code, "verdict", rule)
    told = clean(said.evidence).strip()
    if not SHORTEST_EVIDENCE <= len(told) <= LONGEST_EVIDENCE:
        rule = f"what shows it, in {SHORTEST_EVIDENCE} to {LONGEST_EVIDENCE} characters"
        code = "evidence_required"
        raise InvalidRequestError(code, "evidence", rule)
    stored = storable(told, LONGEST_EVIDENCE)
    return msgspec.structs.replace(said, evidence=stored)


def _senders(state: GoodsDelivery) -> Sequence[str]:
    return [f"{each.sender.host}:{each.sender.pid}" for each in state.senders]


def _at(instant: Instant) -> str:
    return f"{instant:%Y-%m-%d %H:%M:%S}Z"


def _remedy(stage: Stage) -> str:
    match stage:
        case Stage.PENDING | Stage.SUBMITTED:
            return "it goes on by itself; `counterfoil why` says when"
        case Stage.FAILED:
            return "nothing was bought: `counterfoil retry` it, or cancel it"
        case _:
            return "that is final"
