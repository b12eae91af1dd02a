"""Why a word is refused, told with what can be done instead."""

from typing import Final

from application.errors import (
    ApplicationError,
    DecisionRefusedError,
    ReviewDecidedError,
    StateConflictError,
)
from application.operators.deliveries.found import DELIVERY, Found, Reviews
from application.operators.deliveries.verdict import BUSY, STAGE
from domain.event import Instant
from domain.goods.state import Stage

_ALLOWED: Final = {
    "sender_not_gone": ("delivered", "reconcile", "override"),
    "second_person_required": ("delivered", "not_purchased"),
    "purchases_spent": ("delivered", "not_purchased"),
}
"""What the same person could do instead."""


def refusal(reviews: Reviews, found: Found, code: str) -> ApplicationError:
    """Return the error that a person is told."""
    state, key = found.state, str(found.ref.id)
    if code == BUSY.code:
        remedy = "its job ends within moments; ask again then"
        return StateConflictError(DELIVERY, key, "looked at by its job", remedy)
    if not code.startswith(STAGE):
        refused = DecisionRefusedError(code, key, _why(reviews, code, found))
        refused.allowed = _ALLOWED.get(code, ())
        return refused
    last = reviews.last_decision(found.ref.id)
    if last is None:
        return StateConflictError(DELIVERY, key, state.stage, _remedy(state.stage))
    return ReviewDecidedError(
        key, verdict=last.verdict, by=last.by.id, at=last.at, state=state.stage
    )


def _why(reviews: Reviews, code: str, found: Found) -> str:
    match code:
        case "sender_not_gone":
            senders = [each.sender for each in found.state.senders]
            who = ", ".join(f"{each.host}:{each.pid}" for each in senders)
            return (
                f"who has asked the provider may still be about to ({who}): wait until "
                "that process is known to be dead, or have the provider asked "
                "(reconcile); the owner may take it on himself (override)"
            )
        case "second_person_required":
            last = reviews.last_proposal(found.ref.id)
            by = "you" if last is None else f"{last.by.id} at {_at(last.at)}"
            return f"proposed by {by}: another person has to agree to buying again"
        case "purchases_spent":
            return "its six purchases are spent: decide delivered or not_purchased"
        case _:
            return (
                f"it is at version {found.state.version} by now: look at it again with "
                f"`counterfoil deliveries show {found.ref.id}`"
            )


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
