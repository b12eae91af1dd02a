"""`outbox`."""

from datetime import timedelta

import rich_click as click

from api.cli.letters.ages import AGE
from api.cli.options import as_json, at_least, command, option
from api.cli.outbox.told import show, show_series
from api.cli.output import document
from api.installation import Installation
from domain.outbox import TOPICS
from projections.queries.outbox.series import STEPS, SeriesAsked


@command
@option(
    "--topic",
    type=click.Choice(sorted(TOPICS)),
    metavar="TOPIC",
    help="Only messages of this topic, which is the tag of their events.",
)
@option("--tenant", help="Only this tenant's; all when left out.")
@option(
    "--series",
    is_flag=True,
    help="Over time: what was recorded in each step, and what of that still waits.",
)
@option(
    "--since",
    type=AGE,
    metavar="AGE",
    help="How long ago the series begins, such as 6h or 30d.  [default: 1h]",
)
@option(
    "--step",
    type=click.Choice(list(STEPS)),
    help="Of the series; without it, one that gives about a hundred of them.",
)
@at_least
@as_json
@click.pass_obj
def outbox(  # noqa: PLR0913 - the options of the command, one to one
    installation: Installation,
    *,
    topic: str | None,
    tenant: str | None,
    series: bool,
    since: timedelta | None,
    step: str | None,
    at_least: int | None,
    as_json: bool,
) -> None:
    r"""Show what waits to be published: how many messages, and since when.

    A message is written with its event, in one transaction, and waits until its
    `published_at` is set.  Ages count from when the event was recorded.  With --json,
    pendingCount and oldestAgeSeconds stand for all topics together, and in `topics`
    for each; oldestAgeSeconds is null when nothing waits.

    \b
    Examples:
      counterfoil outbox
      counterfoil outbox --topic order.paid --json
      counterfoil outbox --series --since 24h
      counterfoil outbox --series --since 30d --step 1d --topic order.paid
    """
    if not series and (since is not None or step is not None):
        msg = "--since and --step are those of a series: give --series too."
        raise click.UsageError(msg, click.get_current_context())
    with installation.open() as services:
        wanted = services.at_least(at_least)
        lag = services.queries.outbox
        if not series:
            backlog = lag(topic, tenant, at_least=wanted)
            document(backlog) if as_json else show(backlog)
            return
        asked = SeriesAsked(
            since=timedelta(hours=1) if since is None else since,
            step=step,
            topic=topic,
            tenant_id=tenant,
        )
        points = lag.series(asked, at_least=wanted)
    document(points) if as_json else show_series(points)
