"""The command `dead-letters`: by cause, one by one, or those that somebody ended."""

from datetime import timedelta

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
from api.cli.options import as_json, command, option
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
    help="How many at most.",
)
@option("--after", metavar="PLACE", help="Go on with a list after this place.")
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
    if ended:
        _ended(installation, wanted, after, limit, as_json=as_json)
    elif as_list or queues or order is not None or after is not None:
        _list(installation, wanted, after, limit, as_json=as_json)
    else:
        _by_cause(installation, wanted, as_json=as_json)


def _by_cause(
    installation: Installation, wanted: LetterFilter, *, as_json: bool
) -> None:
    with installation.open() as services:
        causes = services.queries.letters.causes(wanted)
        aside = services.queries.letters.set_aside(wanted)
    if as_json:
        document(tell_causes(causes, aside))
    else:
        show_causes(causes, aside)


def _list(
    installation: Installation,
    wanted: LetterFilter,
    after: str | None,
    limit: int,
    *,
    as_json: bool,
) -> None:
    edge = None if after is None else OPEN.edge(after)
    with installation.open() as services:
        page = services.queries.letters.page(wanted, after=edge, limit=limit)
        # They are told with the first page, whole.
        aside = services.queries.letters.set_aside(wanted) if edge is None else ()
    if page is None:
        what = "order"
        told = f"{wanted.order} of tenant {wanted.tenant_id or DEFAULT_TENANT}"
        raise NotFoundError(what, told)
    if as_json:
        document(tell_letters(page, aside))
    else:
        show_letters(page, aside)


def _ended(
    installation: Installation,
    wanted: LetterFilter,
    after: str | None,
    limit: int,
    *,
    as_json: bool,
) -> None:
    if wanted != LetterFilter(tenant_id=wanted.tenant_id):
        rule = "--ended goes with --tenant, --limit and --after alone"
        raise click.UsageError(rule)
    edge = None if after is None else ENDED.edge(after)
    tenant = wanted.tenant_id
    terms = () if tenant is None else (Among("tenant", (tenant,)),)
    with installation.open() as services:
        page = services.queries.letters.ended(
            Asked(terms=terms, after=edge, limit=limit)
        )
    if as_json:
        document(tell_ended(page))
    else:
        show_ended(page)
