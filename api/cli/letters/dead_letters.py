"""The command `dead-letters`: by cause, one by one, or those that somebody ended."""

from datetime import timedelta
from typing import NamedTuple

import rich_click as click

from api.cli.letters.ages import AGE
from api.cli.letters.told import (
    show_causes,
    show_ended,
    show_letters,
    tell_causes,
    tell_ended,
    tell_letters,
)
from api.cli.options import as_json, at_least, command, option
from api.cli.output import document
from api.installation import Installation
from application.errors import NotFoundError
from projections.queries.letters.filter import LetterFilter
from projections.queries.letters.listing import DEFAULT_TENANT, ENDED, OPEN
from projections.queries.page import DEFAULT, MOST
from projections.queries.terms import Among, Asked


@command
@option("--list", "as_list", is_flag=True, help="One by one, the last first.")
@option("--ended", is_flag=True, help="Those that somebody ended, and who it was.")
@option(
    "--kind", "kinds", multiple=True, help="Of this kind; `projection` is set aside."
)
@option("--code", "codes", multiple=True, help="Dead because of this.")
@option("--error-code", "error_codes", multiple=True, help="What the last attempt met.")
@option("--queue", "queues", multiple=True, help="Of this queue; a list.")
@option("--order", help="All that the shop's order led to; a list.")
@option("--tenant", help="Only this tenant's; of --order: default.")
@option("--older-than", type=AGE, metavar="AGE", help="Dead for so long: 30m, 12h, 7d.")
@option("--younger-than", type=AGE, metavar="AGE", help="Dead for less than that.")
@option(
    "--limit",
    type=click.IntRange(1, MOST),
    default=DEFAULT,
    show_default=True,
    help="How many of a list at most.",
)
@option("--after", metavar="PLACE", help="Go on with a list after this place.")
@at_least
@as_json
@click.pass_obj
def dead_letters(  # noqa: PLR0913 - the options of the command, one to one
    installation: Installation,
    *,
    as_list: bool,
    ended: bool,
    kinds: tuple[str, ...],
    codes: tuple[str, ...],
    error_codes: tuple[str, ...],
    queues: tuple[str, ...],
    order: str | None,
    tenant: str | None,
    older_than: timedelta | None,
    younger_than: timedelta | None,
    limit: int,
    after: str | None,
    at_least: int | None,
    as_json: bool,
) -> None:
    r"""Show what nothing will run again without a person, and what can be done.

    Dead jobs, failed operations (with the job that carried them: one letter), and
    events that a read model could not take in.  By cause unless --list is given: the
    kind, why it is dead, and what its last attempt met.  What was cancelled is no dead
    letter.  A retry ends a letter, and so does the cancel of an operation.

    \b
    Examples:
      counterfoil dead-letters
      counterfoil dead-letters --list --kind fulfillment --code remnawave_http_422
      counterfoil dead-letters --order A-1002
      counterfoil dead-letters --older-than 4h
      counterfoil dead-letters --ended
    """
    wanted = LetterFilter(
        kinds=kinds,
        codes=codes,
        error_codes=error_codes,
        queues=queues,
        order=order,
        tenant_id=tenant,
        older_than=older_than,
        younger_than=younger_than,
    )
    how = _How(after, limit, at_least, as_json)
    if ended:
        _ended(installation, wanted, how)
    elif as_list or queues or order is not None or after is not None:
        _list(installation, wanted, how)
    else:
        _by_cause(installation, wanted, how)


class _How(NamedTuple):
    """Which page is shown, of which moment, and to whom."""

    after: str | None
    limit: int
    position: int | None
    as_json: bool


def _by_cause(installation: Installation, wanted: LetterFilter, how: _How) -> None:
    with installation.open() as services:
        at_least = services.at_least(how.position)
        causes = services.queries.letters.causes(wanted, at_least=at_least)
        aside = services.queries.letters.set_aside(wanted)
    if how.as_json:
        document(tell_causes(causes, aside))
    else:
        show_causes(causes, aside)


def _list(installation: Installation, wanted: LetterFilter, how: _How) -> None:
    edge = None if how.after is None else OPEN.edge(how.after)
    with installation.open() as services:
        page = services.queries.letters.page(
            wanted,
            after=edge,
            limit=how.limit,
            at_least=services.at_least(how.position),
        )
        # They are told with the first page, whole.
        aside = services.queries.letters.set_aside(wanted) if edge is None else ()
    if page is None:
        what = "order"
        told = f"{wanted.order} of tenant {wanted.tenant_id or DEFAULT_TENANT}"
        raise NotFoundError(what, told)
    if how.as_json:
        document(tell_letters(page, aside))
    else:
        show_letters(page, aside)


def _ended(installation: Installation, wanted: LetterFilter, how: _How) -> None:
    if wanted != LetterFilter(tenant_id=wanted.tenant_id):
        rule = "--ended goes with --tenant, --limit and --after alone"
        raise click.UsageError(rule)
    edge = None if how.after is None else ENDED.edge(how.after)
    tenant = wanted.tenant_id
    terms = () if tenant is None else (Among("tenant", (tenant,)),)
    asked = Asked(terms=terms, after=edge, limit=how.limit)
    with installation.open() as services:
        at_least = services.at_least(how.position)
        page = services.queries.letters.ended(asked, at_least=at_least)
    if how.as_json:
        document(tell_ended(page))
    else:
        show_ended(page)
