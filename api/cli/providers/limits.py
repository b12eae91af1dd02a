"""`providers limits`: what may be spent at providers, what was, and how they answer."""

from typing import Final

import rich_click as click

from api.cli.operating import instruction_of
from api.cli.options import argument, as_json, command, option
from api.cli.output import document
from api.cli.providers.money import show_money, tell_limited
from api.installation import Installation
from application.errors import NotFoundError
from application.providers.limiting import Wanted

_PROVIDER: Final = "provider"


@command
@argument("provider", metavar="[PROVIDER]", required=False)
@option("--currency", metavar="CODE", help="Of the amounts; needed with the first.")
@option(
    "--spend-limit",
    type=click.IntRange(0),
    metavar="MINOR",
    help="Most that may be spent within a window, in minor units; 0: no limit.",
)
@option(
    "--window",
    type=click.IntRange(1),
    metavar="SECONDS",
    help="How long the window is that ends at each purchase; at first a day.",
)
@option(
    "--low-balance",
    type=click.IntRange(0),
    metavar="MINOR",
    help="Tell once when the provider holds less of your money.",
)
@option("--no-low-balance", is_flag=True, help="Tell nobody of a low balance.")
@option("--tenant", default="default", show_default=True, help="Whose provider it is.")
@option("--reason", metavar="TEXT", help="Why; needed to change anything.")
@as_json
@click.pass_context
def limits(  # noqa: PLR0913 - the options of the command, one to one
    context: click.Context,
    provider: str | None,
    *,
    currency: str | None,
    spend_limit: int | None,
    window: int | None,
    low_balance: int | None,
    no_low_balance: bool,
    tenant: str,
    reason: str | None,
    as_json: bool,
) -> None:
    r"""Show limits, spending, balance and health of providers; or set limits of one.

    A purchase that would go beyond the limit waits and spends none of its six tries;
    what was definitely not bought counts no more.  A provider that fails five times in
    a row is asked nothing for a minute, then by one purchase alone, and after each
    failure for twice as long, up to half an hour.

    \b
    Examples:
      counterfoil providers limits
      counterfoil providers limits stars --currency RUB --spend-limit 5000000 \
        --low-balance 200000 --reason "budget of May"
      counterfoil providers limits stars --spend-limit 0 --reason "no limit any more"
    """
    installation: Installation = context.obj
    wanted = Wanted(
        currency=currency,
        spend_limit_minor=spend_limit,
        spend_window_seconds=window,
        low_balance_minor=low_balance,
        is_never_told=no_low_balance,
    )
    if wanted == Wanted():
        _show(installation, provider, as_json=as_json)
        return
    if provider is None:
        msg = "Name the provider whose limits are to be set."
        raise click.UsageError(msg, context)
    if reason is None:
        msg = "Missing option '--reason': why the limits are set."
        raise click.UsageError(msg, context)
    instruction = instruction_of(reason)
    with installation.open() as services:
        limited = services.limit_providers.limit(tenant, provider, wanted, instruction)
    document(limited) if as_json else tell_limited(limited)


def _show(installation: Installation, provider: str | None, *, as_json: bool) -> None:
    with installation.open() as services:
        lines = services.limit_providers.book.lines()
    if provider is not None:
        lines = tuple(each for each in lines if each.provider == provider)
        if not lines:
            raise NotFoundError(_PROVIDER, provider)
    document({"providers": lines}) if as_json else show_money(lines)
