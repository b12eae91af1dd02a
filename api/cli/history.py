"""`events` and `why`: the log, and the story of one id."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final
from uuid import UUID

import msgspec
import rich_click as click

from api.cli.options import argument, as_json, command, option, tenant
from api.cli.outlook import outlook
from api.cli.output import aside, document, say
from api.cli.timeline import show_events
from api.cli.times import at
from api.installation import Installation
from application.errors import NotFoundError
from projections.event_log import EventFilter
from projections.why import Story
from projections.why.heads import DeliveryHead, EntitlementHead

_MOST: Final = 10_000


@command
@option("--stream", type=click.UUID, metavar="ID", help="Only this stream.")
@option("--type", "tag", metavar="TAG", help="Only events of this type.")
@option("--correlation", metavar="ID", help="Only what belongs together by this id.")
@tenant
@option(
    "--after",
    type=click.IntRange(0),
    metavar="POSITION",
    help="Read on from here; without it, the latest are shown.",
)
@option(
    "--limit",
    type=click.IntRange(1, _MOST),
    default=100,
    show_default=True,
    help="How many at most.",
)
@as_json
@click.pass_obj
def events(  # noqa: PLR0913 - the options of the command, one to one
    installation: Installation,
    *,
    stream: UUID | None,
    tag: str | None,
    correlation: str | None,
    tenant: str | None,
    after: int | None,
    limit: int,
    as_json: bool,
) -> None:
    r"""Show the log, in its order, up to where it is final.

    With --json each line is one event; read on with --after the last one's position,
    and no event is ever missed or seen twice.

    \b
    Examples:
      counterfoil events --limit 20
      counterfoil events --type job.discarded
      counterfoil events --correlation order:cdnow:17
      counterfoil events --after 0 --limit 10000 --json
    """
    wanted = EventFilter(
        stream_id=stream,
        type=tag,
        correlation_id=correlation,
        tenant_id=tenant,
        after=after,
        limit=limit,
    )
    with installation.open() as services:
        found = services.events(wanted)
    if as_json:
        for event in found:
            document(event)
    elif found:
        show_events(found)
    else:
        aside("no such event")


@command
@argument("key", metavar="ID")
@option(
    "--tenant",
    default="default",
    show_default=True,
    help="Whose order, customer or panel user it is.",
)
@option(
    "--limit",
    type=click.IntRange(1, _MOST),
    default=200,
    show_default=True,
    help="How many events at most, the latest.",
)
@as_json
@click.pass_obj
def why(
    installation: Installation, key: str, *, tenant: str, limit: int, as_json: bool
) -> None:
    r"""Tell why something is as it is: what happened, and what happens next and when.

    ID is whatever you have: the shop's order, a customer, a panel user's name, the id
    of an order, entitlement, operation, delivery, job or window of maintenance, or of a
    request in the panel's book.

    \b
    Examples:
      counterfoil why cdnow:17
      counterfoil why 00004
      counterfoil why counterfoil_8f8a30d6eb8b0e7a
    """
    with installation.open() as services:
        story = services.why(key.strip(), tenant_id=tenant, limit=limit)
        budgets = services.budgets
    if story is None:
        what = (
            "order, customer, panel user, entitlement, operation, delivery, job or "
            "window"
        )
        told = f"{key} of tenant {tenant}; look for it with `counterfoil events`"
        raise NotFoundError(what, told)
    if as_json:
        plain = msgspec.to_builtins(story, builtin_types=(datetime,))
        document({**plain, "next": outlook(story, budgets)})
    else:
        _show(story, budgets)


def _show(story: Story, budgets: Mapping[str, int]) -> None:
    say(*_standing(story), "", "What happened")
    if story.has_earlier:
        say("… the beginning is left out; --limit shows more")
    show_events(story.events)
    say("", "What happens next", *outlook(story, budgets))


def _standing(story: Story) -> list[str]:
    orders = [
        f"order {each.order_id} ({each.stream_id}): {each.kind} of customer "
        f"{each.customer_id}, slot {each.slot}, {each.amount_minor} minor units of "
        f"{each.currency}, {each.state}"
        for each in story.orders
    ]
    entitlements = [_entitlement(each) for each in story.entitlements]
    operations = [
        f"operation {each.stream_id}: {each.operation} of version "
        f"{each.desired_version}, {each.state}"
        + ("" if each.code is None else f" ({each.code})")
        + ("" if each.covered_by is None else f" by {each.covered_by}")
        + f", {each.attempts} {'attempt' if each.attempts == 1 else 'attempts'}"
        for each in story.operations
    ]
    windows = [
        f"window {each.window_id}: maintenance of scope {each.scope}, {each.state}, "
        f"opened {at(each.opened_at)} by {each.opened_by}"
        for each in story.windows
    ]
    deliveries = [_delivery(each) for each in story.deliveries]
    return [*orders, *entitlements, *operations, *deliveries, *windows]


def _delivery(head: DeliveryHead) -> str:
    why = head.deferred_code or head.code
    refunded = head.refunded_minor
    back = "" if refunded is None else f", {refunded} {head.currency} went back"
    return (
        f"delivery {head.stream_id}: line {head.line} of order {head.order_id} at "
        f"{head.provider}, {head.state}"
        + ("" if why is None else f" ({why})")
        + f", {head.purchases} {'purchase' if head.purchases == 1 else 'purchases'}"
        + back
    )


def _entitlement(head: EntitlementHead) -> str:
    standing = [f"ends {at(head.ends_at)}"]
    standing += [f"changes {at(instant)}" for instant in head.changes_at]
    if head.paused_at is not None:
        standing.append("paused")
    if head.is_disabled:
        standing.append("disabled")
    shown = (
        "has not shown it yet"
        if head.observed_status is None
        else f"showed {head.observed_status}"
    )
    if head.drifts:
        shown += f" and differs in {', '.join(head.drifts)}"
    return (
        f"entitlement {head.stream_id}: panel user {head.username}, version "
        f"{head.desired_version}, {', '.join(standing)}; the panel {shown}"
    )
