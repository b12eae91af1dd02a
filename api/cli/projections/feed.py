"""`projections holders`: who holds the feed back, and what can be done about it."""

import rich_click as click
from rich.text import Text

from api.cli.options import as_json, command
from api.cli.output import aside, document, say, show_rows
from api.installation import Installation
from projections.queries.holders import FeedPage, Holder


@command
@as_json
@click.pass_obj
def holders(installation: Installation, *, as_json: bool) -> None:
    r"""Show who holds the feed back: open transactions that have written events.

    Nothing behind the oldest of them can be read by projections yet, so none skips an
    event.  An application that thinks, or has forgotten to commit, is told by its pid
    and name; a prepared transaction by its gid.  Another role's session is shown in
    full only to members of pg_read_all_stats.

    \b
    Examples:
      counterfoil projections holders
      counterfoil projections holders --json
    """
    with installation.open() as services:
        page = services.queries.holders()
    document(page) if as_json else show_holders(page)


def show_holders(page: FeedPage) -> None:
    """Write who holds the feed back, for how long, and what can be done."""
    if not page.holders:
        say(f"nobody holds the feed back: it can be read up to {page.horizon}")
        return
    waiting = max(page.last - page.horizon, 0)
    say(f"the feed can be read up to {page.horizon}; {waiting} positions wait")
    names = ("who", "state", "holds", "age", "user", "application", "client")
    show_rows(names, [_holder(each) for each in page.holders])
    for told in _remedies(page):
        aside(told, "yellow")


def _holder(holder: Holder) -> list[Text]:
    age = holder.age_seconds
    return [
        Text(_who(holder)),
        Text(holder.state or "not visible"),
        Text(f"from {holder.ticket}"),
        Text("not visible" if age is None else f"{age:.1f} s"),
        Text(holder.user or ""),
        Text(holder.application or ""),
        Text(holder.client or ""),
    ]


def _who(holder: Holder) -> str:
    if holder.pid is None:
        return f"gid {holder.gid}" if holder.gid is not None else "a prepared one"
    return f"pid {holder.pid}"


def _remedies(page: FeedPage) -> list[str]:
    """Return what can be done about the holders, a sentence for each kind."""
    told: list[str] = []
    holders = page.holders
    if any(each.is_hidden for each in holders):
        told.append(
            f"role {page.asked_as} may not see other roles' sessions: "
            f"GRANT pg_read_all_stats TO {page.asked_as}"
        )
    idle = next((each for each in holders if (each.state or "")[:7] == "idle in"), None)
    if idle is not None:
        told.append(
            "idle in transaction: its application has to commit or roll back; "
            f"SELECT pg_terminate_backend({idle.pid}) rolls it back by force"
        )
    prepared = next((each for each in holders if each.gid is not None), None)
    if prepared is not None:
        told.append(
            "prepared: whoever coordinates it has to end it, by "
            "COMMIT PREPARED or ROLLBACK PREPARED with its gid"
        )
    if any(each.waits_for_lock for each in holders):
        told.append("waits for a lock: SELECT pg_blocking_pids(pid) names whose")
    return told
