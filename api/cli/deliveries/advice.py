"""What a person may do about a delivery now, and why not what he may not."""

from collections.abc import Iterator
from typing import Final

import msgspec

from domain.goods.state import MOST_PURCHASES
from projections.queries.records.dossier import Dossier

_REASON: Final = '--reason "…"'


class Choice(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True
):
    """One thing that could be done."""

    what: str
    command: str
    barred: str | None = None
    """Why it is not possible now; None: it is."""


def choices(found: Dossier, *, four_eyes: bool) -> tuple[Choice, ...]:
    """Return what can be done about the delivery, possible or not."""
    match found.state:
        case "needs_review":
            return tuple(_reviewed(found, four_eyes=four_eyes))
        case "submitted":
            return (_reconcile(found),)
        case "pending":
            return (_cancel(found),)
        case "failed":
            what = "try once more, with a fresh budget of runs"
            retry = Choice(
                what=what, command=f"counterfoil retry {found.delivery_id} {_REASON}"
            )
            return (retry, _cancel(found))
        case _:
            return ()


def _reviewed(found: Dossier, *, four_eyes: bool) -> Iterator[Choice]:
    yield _reconcile(found)
    yield _decide(found, "delivered", "the recipient has it")
    at_large = _at_large(found)
    money = f"the customer gets {found.paid_minor} minor units of {found.currency} back"
    yield _decide(
        found, "not_purchased", f"nothing was bought: {money}", barred=at_large
    )
    spent = None
    if found.purchases >= MOST_PURCHASES:
        spent = f"{found.purchases} of {MOST_PURCHASES} purchases are spent"
    two = "; needs a second person" if four_eyes else ""
    if found.proposal is not None:
        two = f"; agrees to what {found.proposal.by.id} has proposed"
    yield _decide(
        found,
        "buy_again",
        f"nothing was bought: buy anew{two}",
        barred=spent or at_large,
    )


def _at_large(found: Dossier) -> str | None:
    if not found.senders:
        return None
    who = ", ".join(f"{each.host}:{each.pid}" for each in found.senders)
    return (
        f"{who} is not known to be dead and may still buy; --override takes it on you"
    )


def _decide(
    found: Dossier, verdict: str, what: str, *, barred: str | None = None
) -> Choice:
    command = (
        f"counterfoil deliveries decide {found.delivery_id} {verdict} "
        f'--evidence "…" {_REASON} --version {found.version}'
    )
    return Choice(what=what, command=command, barred=barred)


def _reconcile(found: Dossier) -> Choice:
    barred = None
    if found.standing == "asked":
        barred = "its sender waits for the answer"
    elif found.decision == 0:
        barred = "the provider was never asked"
    return Choice(
        what="ask the provider what became of it; never buys",
        command=f"counterfoil deliveries reconcile {found.delivery_id} {_REASON}",
        barred=barred,
    )


def _cancel(found: Dossier) -> Choice:
    barred = None
    if found.is_doubtful:
        barred = "a purchase before a person bought again has an end that nobody knows"
    return Choice(
        what=f"end it: {found.paid_minor} minor units of {found.currency} go back",
        command=f"counterfoil cancel {found.delivery_id} {_REASON}",
        barred=barred,
    )
