"""Dead letters: what a person says about what nothing will run again by itself.

discarded job, failed record ─acknowledge─► stays in the list, with who has seen it
discarded job, failed record ─dismiss────► leaves the list, and stays as dead as it is
a review                     ─dismiss────► refused: it is decided, or money is lost
anything that is not dead    ────────────► refused

What was dismissed can still be retried, and is a new letter when it dies again; there
is no other way back.  To redrive a letter is to retry it.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol
from uuid import UUID

from application.operators.action import GONE, Action
from application.operators.changes import state_of
from application.operators.refusals import Refusals
from application.operators.target import FINAL, Target, Targets
from application.unit import Ids, Locked, Refused, UnitOfWork
from domain.access.permissions import Permission
from domain.event import Instant
from domain.fulfillment.aggregate import FulfillmentOperation
from domain.fulfillment.aggregate import Stage as OperationStage
from domain.goods.state import GoodsDelivery
from domain.goods.state import Stage as DeliveryStage
from domain.jobs.aggregate import Job
from domain.jobs.aggregate import Stage as JobStage
from domain.operators.actions import LETTER_ACKNOWLEDGED, LETTER_DISMISSED
from domain.operators.events import (
    LetterAcknowledged,
    LetterDismissed,
)
from domain.operators.remarks import remarked
from domain.stream import Change, Ref, StreamKind


class _Say(Protocol):
    def __call__(self, *, letter: UUID) -> LetterAcknowledged | LetterDismissed:
        """Return what is said of the letter."""
        ...


def acknowledge_letter(targets: Targets, units: UnitOfWork, ids: Ids) -> Action:
    """Return the action that says that somebody sees to what is dead."""
    return Action(
        verb="acknowledge",
        names={StreamKind.JOB: LETTER_ACKNOWLEDGED},
        decide=partial(_decide, ids, LetterAcknowledged),
        permission=Permission.DEADLETTERS_WRITE,
        remedy=_remedy,
        targets=targets,
        units=units,
        refusals=Refusals(units, ids),
    )


def dismiss_letter(targets: Targets, units: UnitOfWork, ids: Ids) -> Action:
    """Return the action that takes what is dead out of the list, as it is."""
    return Action(
        verb="dismiss",
        names={StreamKind.JOB: LETTER_DISMISSED},
        decide=partial(_decide, ids, LetterDismissed),
        permission=Permission.DEADLETTERS_WRITE,
        remedy=_remedy,
        targets=targets,
        units=units,
        refusals=Refusals(units, ids),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Letters:
    """What can be done about dead letters."""

    redrive: Action
    acknowledge: Action
    dismiss: Action


def letters_over(retry: Action) -> Letters:
    """Return that, over what retries; whoever may see to letters may redrive them."""
    over = retry.targets, retry.units, retry.refusals.ids
    return Letters(
        redrive=replace(retry, permission=Permission.DEADLETTERS_WRITE),
        acknowledge=acknowledge_letter(*over),
        dismiss=dismiss_letter(*over),
    )


def _decide(
    ids: Ids, say: _Say, target: Target, locked: Locked, _now: Instant
) -> tuple[Change, ...] | Refused:
    # A job that serves an operation or a delivery is the record's letter, not its own.
    operation = state_of(locked, target.record, FulfillmentOperation)
    delivery = state_of(locked, target.record, GoodsDelivery)
    job = state_of(locked, target.job, Job)
    letter, may_review = target.record, say is LetterAcknowledged
    if operation is not None:
        is_dead = operation.stage is OperationStage.FAILED
        told = f"operation_{operation.stage}"
    elif delivery is not None:
        is_review = delivery.stage is DeliveryStage.NEEDS_REVIEW
        is_dead = delivery.stage is DeliveryStage.FAILED or (is_review and may_review)
        told = f"delivery_{delivery.stage}"
    elif job is not None:
        letter, is_dead = target.job, job.stage is JobStage.DISCARDED
        told = f"job_{job.stage}"
    else:
        return GONE
    if letter is None or not is_dead:
        return Refused(told)
    ref, tenant = Ref(StreamKind.REMARK, ids()), locked[letter].tenant_id
    return (remarked(ref, tenant, say(letter=letter.id)),)


def _remedy(what: str, stage: str) -> str:
    match stage:
        case "needs_review":
            return "a review is decided, not dismissed: `counterfoil deliveries decide`"
        case "succeeded" | "delivered" | "refunded":
            return FINAL
        case "changing":
            return "ask again"
        case _:
            return f"this {what} is no dead letter"
