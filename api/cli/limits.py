"""`limits`: how many jobs may be pending, and how full it is."""

import rich_click as click
from rich.text import Text

from api.cli.options import as_json, command, option
from api.cli.output import document, say, show_rows
from api.installation import Installation
from projections.pending import PendingPage


@command
@option("--tenant", help="Show this tenant alone.", metavar="TENANT")
@as_json
@click.pass_obj
def limits(installation: Installation, *, tenant: str | None, as_json: bool) -> None:
    r"""Show how many jobs may be pending, and the tenants that have the most.

    Pending is what is unfinished: waiting for whatever, parked or scheduled, or
    running.  At a limit `enqueue` and `retry` are refused until jobs have ended; what
    was paid for is counted and never refused.  The limits are kept in the database:
    set COUNTERFOIL_JOB_MAX_PENDING or COUNTERFOIL_JOB_MAX_TENANT_PENDING (0: no limit)
    and run `counterfoil migrate`, which takes effect at once.

    \b
    Examples:
      counterfoil limits
      counterfoil limits --tenant default --json
      COUNTERFOIL_JOB_MAX_TENANT_PENDING=5000 counterfoil migrate
    """
    with installation.open() as services:
        page = services.pending(tenant)
    if as_json:
        document(page)
        return
    _show(page)


def _show(page: PendingPage) -> None:
    say(
        f"{page.pending} pending in all, {_of(page.max_pending)}; "
        f"{page.running} running",
        f"{_most(page.max_tenant_pending)} for a tenant",
    )
    names = ("tenant", "pending", "running", "room")
    show_rows(
        names,
        [
            [
                Text(line.tenant),
                Text(str(line.pending)),
                Text(str(line.running)),
                _room(line.pending, page.max_tenant_pending),
            ]
            for line in page.tenants
        ],
    )


def _of(most: int) -> str:
    return f"of at most {most}" if most else "without a limit"


def _most(most: int) -> str:
    return f"at most {most}" if most else "without a limit"


def _room(pending: int, most: int) -> Text:
    if not most:
        return Text("")
    room = max(most - pending, 0)
    return Text(str(room), "bold red" if room == 0 else "")
