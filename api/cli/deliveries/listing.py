"""`deliveries list`: what waits for a person, or whatever is asked for."""

from datetime import timedelta
from typing import Final

import rich_click as click
from rich.text import Text

from api.cli.letters.ages import AGE
from api.cli.options import as_json, at_least, command, option
from api.cli.output import aside, document, say, show_rows, tell_as_of
from api.cli.times import distance
from api.installation import Installation
from projections.queries.page import DEFAULT, MOST, Page
from projections.queries.records.deliveries import DELIVERIES, NEEDS_A_HUMAN
from projections.queries.terms import Among, Asked, Between, Scalar, Term
from projections.read_models.deliveries import DeliveryRow

STATES: Final = (
    "pending",
    "submitted",
    "needs_review",
    "delivered",
    "failed",
    "refunded",
    "cancelled",
)

_NAMES: Final = (
    "delivery",
    "state",
    "order",
    "line",
    "provider",
    "paid",
    "purchases",
    "code",
    "since",
    "note",
)


@command
@option("--all", "everything", is_flag=True, help="Also what waits for nobody.")
@option(
    "--state",
    "states",
    type=click.Choice(STATES),
    multiple=True,
    help="In this state; needs_review and failed when nothing is said.",
)
@option("--provider", "providers", multiple=True, metavar="SLUG", help="Of this one.")
@option("--code", "codes", multiple=True, help="What was last said against it.")
@option("--order", help="Of the shop's order.")
@option("--customer", help="Of the shop's customer.")
@option("--tenant", help="Only this tenant's; all when left out.")
@option("--older-than", type=AGE, metavar="AGE", help="Owed for so long: 30m, 12h, 7d.")
@option("--younger-than", type=AGE, metavar="AGE", help="Owed for less than that.")
@option(
    "--limit",
    type=click.IntRange(1, MOST),
    default=DEFAULT,
    show_default=True,
    help="How many at most.",
)
@option("--after", metavar="PLACE", help="Go on after this place.")
@option("--count", is_flag=True, help="Tell how many there are, up to 10,000.")
@at_least
@as_json
@click.pass_obj
def list_deliveries(  # noqa: PLR0913 - the options of the command, one to one
    installation: Installation,
    *,
    everything: bool,
    states: tuple[str, ...],
    providers: tuple[str, ...],
    codes: tuple[str, ...],
    order: str | None,
    customer: str | None,
    tenant: str | None,
    older_than: timedelta | None,
    younger_than: timedelta | None,
    limit: int,
    after: str | None,
    count: bool,
    at_least: int | None,
    as_json: bool,
) -> None:
    r"""List deliveries of goods, the newest first.

    Without options those that wait for a person: in review, or failed.  Never the
    recipient; `deliveries show` tells it.

    \b
    Examples:
      counterfoil deliveries list
      counterfoil deliveries list --provider stars --code gateway_unreachable
      counterfoil deliveries list --order A-1002
      counterfoil deliveries list --state needs_review --count --json
    """
    named: dict[str, tuple[Scalar, ...]] = {
        "state": states,
        "provider": providers,
        "code": codes,
        "order": () if order is None else (order,),
        "customer": () if customer is None else (customer,),
        "tenant": () if tenant is None else (tenant,),
    }
    terms: list[Term] = [Among(name, it) for name, it in named.items() if it]
    if older_than is not None or younger_than is not None:
        terms.append(Between("created_at", least=younger_than, below=older_than))
    is_narrow = everything or states or order is not None
    asked = Asked(
        terms=(*terms, *(() if is_narrow else NEEDS_A_HUMAN.terms)),
        after=None if after is None else DELIVERIES.edge(after),
        limit=limit,
        is_counted=count,
    )
    with installation.open() as services:
        at = services.at_least(at_least)
        page = services.queries.deliveries(asked, at_least=at)
    document(_told(page)) if as_json else _show(page)


def _told(page: Page[DeliveryRow]) -> dict[str, object]:
    return {
        "items": page.items,
        "page": {
            "next": None if page.next is None else str(page.next),
            "limit": page.limit,
        },
        "count": page.count,
        "asOf": page.as_of,
    }


def _show(page: Page[DeliveryRow]) -> None:
    if page.items:
        now = page.as_of.at
        show_rows(
            _NAMES,
            [
                [
                    Text(str(each.stream_id)),
                    Text(each.state, style=_style(each.state)),
                    Text(each.order_id),
                    Text(str(each.line)),
                    Text(each.provider),
                    Text(f"{each.paid_minor} {each.currency}"),
                    Text(str(each.purchases)),
                    Text(each.deferred_code or each.code or ""),
                    Text(distance(each.reviewed_at or each.created_at, now)),
                    Text(_note(each)),
                ]
                for each in page.items
            ],
        )
    else:
        aside("no such delivery")
    if page.count is not None:
        more = "" if page.count.relation == "eq" else " or more"
        say(f"{page.count.value}{more} in all")
    if page.next is not None:
        aside(f"there are more: add --after '{page.next}'")
    tell_as_of(page.as_of)


def _style(state: str) -> str:
    return {"needs_review": "red", "failed": "red", "delivered": "green"}.get(state, "")


def _note(row: DeliveryRow) -> str:
    if row.proposed_by is not None and row.state == "needs_review":
        return f"{row.proposed_by} wants to buy again: another person has to agree"
    if row.state == "needs_review":
        return "show it, then decide"
    if row.state == "failed":
        return "nothing was bought: retry, or cancel"
    return row.standing if row.state == "submitted" else ""
