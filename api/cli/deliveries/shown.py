"""All the evidence of one delivery, as a person reads it and as a program does."""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

import msgspec

from api.cli.deliveries.advice import Choice, choices
from api.cli.output import say
from api.cli.timeline import show_events
from api.cli.times import at, distance
from domain.goods.state import MOST_PURCHASES
from projections.queries.records.dossier import AtLarge, Dossier

_STANDINGS: Final = {
    "none": "no purchase is open",
    "asked": "the provider is being asked, and has not answered",
    "accepted": "the provider has taken it, and delivers later",
    "unknown": "nobody here knows whether it was bought",
}


def tell_dossier(found: Dossier, *, four_eyes: bool) -> dict[str, object]:
    """Return the evidence as one document, with what may be done."""
    plain: dict[str, object] = msgspec.to_builtins(found, builtin_types=(datetime,))
    may = msgspec.to_builtins(choices(found, four_eyes=four_eyes))
    return {**plain, "choices": may, "fourEyes": four_eyes}


def show_dossier(found: Dossier, *, four_eyes: bool) -> None:
    """Write the evidence for a person, and what he may do."""
    say(*_standing(found), "", "What happened")
    show_events(found.events)
    for job in found.jobs:
        say(f"job {job.job_id}: {job.kind}, {job.state}")
    for file in found.files:
        size = f"{file.media_type}, {file.size_bytes:,} bytes"
        say(f"file {file.sha256}: {size}, of {file.added_by} {at(file.added_at)}")
    say("", "What you may do now")
    possible = choices(found, four_eyes=four_eyes)
    if not possible:
        say("nothing: that is final")
    for choice in possible:
        say(*_choice(choice))


def _choice(choice: Choice) -> Iterator[str]:
    if choice.barred is None:
        yield f"{choice.what}:"
    else:
        yield f"NOT NOW, {choice.what}: {choice.barred}"
    yield f"    {choice.command}"


def _standing(found: Dossier) -> Iterator[str]:
    yield (
        f"delivery {found.delivery_id}: line {found.line} of order {found.order_id} of "
        f"customer {found.customer_id}, {found.state}"
        + ("" if found.code is None else f" ({found.code})")
    )
    units = found.product.quantity or found.product.months
    what = found.product.kind if units is None else f"{found.product.kind} {units}"
    yield (
        f"    {found.quantity} x {what} for {found.recipient} at {found.provider}; "
        f"costs {found.cost_minor} and was sold for {found.price_minor} each, "
        f"{found.paid_minor} paid for all, in minor units of {found.currency}"
    )
    yield (
        f"    {found.purchases} of {MOST_PURCHASES} purchases spent, decision "
        f"{found.decision} under key {found.key or 'none'}: "
        f"{_STANDINGS[found.standing]}"
    )
    yield from _limits(found)
    if found.refunded_minor is not None:
        yield f"    refunded: {found.refunded_minor} minor units of {found.currency}"
    if found.restored_at is not None:
        yield (
            f"    a restore noticed at {at(found.restored_at)} may have lost later "
            "purchases of it"
        )
    if found.is_doubtful:
        yield "    a person has bought again after a purchase whose end nobody knows"
    yield from _people(found)


def _limits(found: Dossier) -> Iterator[str]:
    """Say until when something may happen, as far as it is known."""
    limits = (
        ("provider's reference", found.reference),
        ("last refusal's class", found.failure_class),
        ("its sender waits until", found.deadline),
        ("the provider begins it until", found.expires_at),
        ("one effect is promised for the key until", found.repeat_until),
        ("nothing is bought for now because", found.deferred_code),
        ("next look", found.next_at),
    )
    for name, value in limits:
        if value is not None:
            told = at(value) if isinstance(value, datetime) else value
            yield f"    {name}: {told}"


def _people(found: Dossier) -> Iterator[str]:
    if found.standing != "none" and not found.senders:
        yield "    nobody may still ask: every sender has answered, or is dead"
    for sender in found.senders:
        yield f"    {_sender(sender, found.deadline, found.now)}"
    proposal = found.proposal
    if proposal is not None:
        wish = proposal.verdict.replace("_", " ")
        yield f"    {proposal.by.id} wants to {wish}: “{proposal.evidence}”"


def _sender(sender: AtLarge, deadline: datetime | None, now: datetime) -> str:
    heard = "is heard of" if sender.is_heard_of else "is not heard of"
    waits = ""
    if deadline is not None:
        waits = f"; its call was to end {distance(deadline, now)}"
    return (
        f"{sender.host}:{sender.pid} (purchase {sender.purchase}, decision "
        f"{sender.decision}) is not known to be dead: it {heard}{waits}"
    )
