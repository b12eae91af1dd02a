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
from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

import msgspec

from application.errors import (
    ApplicationError,
    StateConflictError,
)
from application.once.commit import commit_once, making
from application.operators.deliveries.found import (
    DELIVERY,
    Found,
    Reviews,
    about_delivery,
    find_delivery,
)
from application.operators.deliveries.refused import refusal
from application.operators.deliveries.verdict import GONE, Said, Verdict
from application.operators.instruction import Instruction, as_given
from application.operators.refusals import Refusals
from application.operators.taken import Deed, done, on_record
from application.policies import GOODS_DELIVERY, goods_key_of
from application.ports import Streams
from application.unit import Group, Ids, Locked, Refused, UnitOfWork, Written
from domain.access.permissions import Permission
from domain.errors import DomainError, InvalidRequestError
from domain.event import Instant
from domain.goods.events import DecisionProposed
from domain.goods.review import VERDICTS
from domain.goods.state import Stage
from domain.members import is_object
from domain.operators.actions import REVIEW_PROPOSED, REVIEW_RESOLVED
from domain.operators.events import ActionRefused, ActionTaken
from domain.stream import Change, Ref, StreamKind
from domain.text import clean, stated

ACTION: Final = "decide_delivery"

SHORTEST_EVIDENCE: Final = 3
LONGEST_EVIDENCE: Final = 2_000
UNKNOWN_FILE: Final = "unknown_evidence"

_ROUNDS: Final = 3
_CONFLICT: Final = Refused("conflict")


class Decided(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Where a delivery stands after a person's word."""

    delivery_id: UUID
    verdict: str | None = None
    """What was said; None: it was only looked at."""
    state: str
    version: int
    """Of the delivery, for whoever decides next."""
    proposed_by: str | None
    """Who has proposed what another person has to agree to; None: it is decided."""
    job_id: UUID | None
    """The job that was born, which buys or sees what is left of the order."""
    is_proposed: bool = False
    """Whether this word is a proposal, to which another person has to agree."""
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
            ForbiddenError: whoever asks may not, or not override.
            InvalidRequestError: the verdict is none, or there is no evidence.
            NotFoundError: there is no such delivery of theirs.
            ReviewDecidedError: somebody has decided it, and says who and when.
            DecisionRefusedError: it is barred, or needs another person.
            StateConflictError: it is not in review.
            DatabaseUnavailableError: nothing is known to be done.
        """
        try:
            return self._decided(said, instruction)
        except (ApplicationError, DomainError) as error:
            target = as_given(said.delivery)
            refused = ActionRefused(action=ACTION, target=target, code=error.code)
            about = about_delivery(self.streams, said.delivery, instruction)
            Refusals(self.units, self.ids).record(refused, instruction, about)
            raise

    def look(self, key: str, instruction: Instruction) -> Decided:
        """Return how it stands with a delivery.

        Raises:
            NotFoundError: there is no such delivery of theirs.
        """
        found = find_delivery(self.streams, key, instruction)
        return _stands(found, (), self.streams.last_position([found.ref.id]))

    def _decided(self, said: Said, instruction: Instruction) -> Decided:
        instruction.require(Permission.DELIVERIES_DECIDE)
        if said.is_override:
            instruction.require(Permission.DELIVERIES_OVERRIDE)
        said = _read(said)
        for _ in range(_ROUNDS):
            found = find_delivery(self.streams, said.delivery, instruction)
            self._require_files(found, said)
            if self._is_repeated(found, said, instruction):
                return self._repeated(found, said, instruction)
            born, live = Ref(StreamKind.JOB, self.ids()), self._live(found)
            verdict = Verdict(
                delivery=found.ref,
                born=born,
                live=live,
                said=said,
                by=instruction.actor,
                four_eyes=self.four_eyes,
            )
            group = _group(found, instruction)
            kept = _on_record(group, found, verdict, self.ids())
            result = commit_once(self.units, kept)
            if isinstance(result, Written):
                return self._told(said, result, instruction)
            if result in (GONE, _CONFLICT) or not isinstance(result, Refused):
                continue
            # Whoever was first may have been the same person, with the same word.
            found = find_delivery(self.streams, said.delivery, instruction)
            if self._is_repeated(found, said, instruction):
                return self._repeated(found, said, instruction)
            raise refusal(self.reviews, found, result.code)
        raise StateConflictError(DELIVERY, said.delivery, "changing", "ask again")

    def _require_files(self, found: Found, said: Said) -> None:
        """Refuse evidence that is not there.

        Raises:
            InvalidRequestError: nobody has added a file that is named.
        """
        missing = self.reviews.missing_evidence(found.ref.id, said.files)
        for place, digest in enumerate(said.files):
            if digest in missing:
                path = f"evidenceFiles[{place}]"
                rule = "no such file was added to the delivery; upload it first"
                raise InvalidRequestError(UNKNOWN_FILE, path, rule)

    def _is_repeated(self, found: Found, said: Said, instruction: Instruction) -> bool:
        last = self.reviews.last_decision(found.ref.id)
        return last is not None and (last.by, last.verdict, last.evidence) == (
            instruction.actor,
            said.verdict,
            said.evidence,
        )

    def _repeated(self, found: Found, said: Said, instruction: Instruction) -> Decided:
        """Return where the delivery stands; that it was said again is on record."""
        deed = _deed(found, REVIEW_RESOLVED)
        kept = on_record(_group(found, instruction), deed, self.ids())
        result = commit_once(self.units, kept)
        if not isinstance(result, Written):
            raise StateConflictError(DELIVERY, said.delivery, "changing", "ask again")
        return self._told(said, result, instruction)

    def _live(self, found: Found) -> Ref | None:
        """Return the job that buys it, if it is not over yet."""
        key = goods_key_of(GOODS_DELIVERY, found.ref.id)
        return self.streams.live_job_with_key(found.head.tenant_id, key)

    def _told(self, said: Said, written: Written, instruction: Instruction) -> Decided:
        found = find_delivery(self.streams, said.delivery, instruction)
        told = _stands(found, done(written), written.position)
        is_proposed = waits_for_agreement(written.changes)
        return msgspec.structs.replace(
            told, verdict=said.verdict, is_proposed=is_proposed
        )


def waits_for_agreement(changes: Sequence[Change]) -> bool:
    """Whether what was said is a proposal, to which nobody has agreed yet."""
    records = (event for each in changes for event in each.events)
    figures = (it.after.get(DELIVERY) for it in records if isinstance(it, ActionTaken))
    return any(
        is_object(it) and it["state"] == Stage.NEEDS_REVIEW and "proposal" in it
        for it in figures
    )


def _stands(found: Found, changes: tuple[Change, ...], position: int) -> Decided:
    state = found.state
    jobs = [each.ref.id for each in changes if each.ref.kind is StreamKind.JOB]
    proposal = state.proposal if state.stage is Stage.NEEDS_REVIEW else None
    return Decided(
        delivery_id=found.ref.id,
        state=state.stage,
        version=state.version,
        proposed_by=None if proposal is None else proposal.by.id,
        job_id=jobs[0] if jobs else None,
        events=tuple(event.tag for each in changes for event in each.events),
        position=position,
    )


def _nothing(_locked: Locked, _now: Instant) -> tuple[Change, ...]:
    return ()


def _group(found: Found, instruction: Instruction) -> Group:
    """Return what changes nothing, under the key of whoever asks."""
    return Group(
        refs=(found.ref,),
        decide=_nothing,
        meta=instruction.meta(found.head.correlation_id),
        once=making(instruction.once, DELIVERY, found.ref.id),
    )


def _on_record(group: Group, found: Found, verdict: Verdict, remark: UUID) -> Group:
    """Return the group with its record: of a proposal or of a decision.

    Which of them it is stands beside every event, so it is known before: when somebody
    else's word has made it the other one meanwhile, it is looked at again.
    """
    is_proposal = verdict.proposes(found.state)

    def decide(locked: Locked, now: Instant) -> tuple[Change, ...] | Refused:
        changes = verdict(locked, now)
        if isinstance(changes, Refused) or not changes:
            return changes
        return changes if _proposes(changes) is is_proposal else _CONFLICT

    decided = replace(group, refs=verdict.refs, decide=decide)
    action = REVIEW_PROPOSED if is_proposal else REVIEW_RESOLVED
    return on_record(decided, _deed(found, action), remark)


def _proposes(changes: tuple[Change, ...]) -> bool:
    return any(
        isinstance(event, DecisionProposed) for each in changes for event in each.events
    )


def _deed(found: Found, action: str) -> Deed:
    return Deed(
        action=action,
        target_kind=DELIVERY,
        target=str(found.ref.id),
        refs=(found.ref,),
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
    files = "".join(f" [sha256:{digest}]" for digest in said.files)
    told = clean(said.evidence).strip() + files
    if not SHORTEST_EVIDENCE <= len(told) <= LONGEST_EVIDENCE:
        rule = f"what shows it, in {SHORTEST_EVIDENCE} to {LONGEST_EVIDENCE} characters"
        code = "evidence_required"
        raise InvalidRequestError(code, "evidence", rule)
    stored = stated(told, LONGEST_EVIDENCE)
    return msgspec.structs.replace(said, evidence=stored)
