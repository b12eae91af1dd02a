"""`jobs` and `job`: what is waiting, running or dead, and what one job went through."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final, Unpack
from uuid import UUID

import msgspec
import rich_click as click
from rich.text import Text

from api.cli.options import argument, as_json, command, option, tenant
from api.cli.outlook import budget_of, opening
from api.cli.output import aside, document, say, show_rows
from api.cli.past.asking import SUCCEEDED, Past, is_past, past_options, question
from api.cli.past.telling import tell_past
from api.cli.timeline import show_events
from api.cli.times import distance
from api.installation import Installation
from application.errors import NotFoundError
from projections.job_line import JobLine
from projections.job_list import STATES, JobFilter, JobPage

_MOST: Final = 1000


@command
@option(
    "--state",
    type=click.Choice(sorted({*STATES, SUCCEEDED})),
    help="All states when left out; what waits for a person: `dead-letters`.",
)
@option("--kind", help="Only jobs of this kind.")
@option("--queue", help="Only jobs of this queue.")
@tenant
@option(
    "--limit",
    type=click.IntRange(1, _MOST),
    default=50,
    show_default=True,
    help="How many at most.",
)
@option("--after", metavar="JOB", help="Go on after this job, or a told place.")
@past_options
@as_json
@click.pass_obj
def jobs(  # noqa: PLR0913 - the options of the command, one to one
    installation: Installation,
    *,
    state: str | None,
    kind: str | None,
    queue: str | None,
    tenant: str | None,
    limit: int,
    after: str | None,
    as_json: bool,
    **past: Unpack[Past],
) -> None:
    r"""List jobs that are not over, and dead ones, the newest first.

    They are told as they are now, and with --json each line is one job.  Whoever asks
    for what has succeeded (--all, --state succeeded) or by any option from --order on
    gets every job that ever was, out of the read model and as of its position; with
    --json as one document.  Arguments are never shown.

    \b
    Examples:
      counterfoil jobs --state running
      counterfoil jobs --state succeeded --kind fulfillment --younger-than 1h --count
      counterfoil jobs --order A-1002
      counterfoil jobs --state parked --kind fulfillment
      counterfoil jobs --limit 100 --after 01a229c8-15d6-7b9a-a414-da3f4ad17f77
    """
    if is_past(state, past):
        named = {"state": state, "kind": kind, "queue": queue, "tenant": tenant}
        asked = question(past, named, after, limit)
        with installation.open() as services:
            at_least = services.at_least(past["at_least"])
            found = services.queries.jobs(asked, at_least=at_least)
            tell_past(found, services.budgets, as_json=as_json)
        return
    wanted = JobFilter(
        state=state,
        kind=kind,
        queue=queue,
        tenant_id=tenant,
        after=None if after is None else _job_of(after),
        limit=limit,
    )
    _tell(installation, wanted, as_json=as_json)


def _job_of(after: str) -> UUID:
    try:
        return UUID(after)
    except ValueError as error:
        rule = f"{after!r} is no job's id"
        raise click.BadParameter(rule, param_hint="--after") from error


def _tell(installation: Installation, wanted: JobFilter, *, as_json: bool) -> None:
    """Write what the heads tell."""
    with installation.open() as services:
        page = services.jobs(wanted)
        budgets, faults = services.budgets, services.faults
    for fault in faults:
        aside(fault, "yellow")
    if as_json:
        for line in page.jobs:
            told = msgspec.to_builtins(line, builtin_types=(datetime,))
            document({**told, "budget": budget_of(line, budgets)})
    else:
        _show(page, budgets)


def _show(page: JobPage, budgets: Mapping[str, int]) -> None:
    if page.jobs:
        names = ("job", "kind", "state", "attempt", "next", "last code", "note")
        show_rows(names, [_row(job, page, budgets) for job in page.jobs])
    else:
        aside("no such job")
    if page.has_more:
        aside(f"there are more: add --after {page.jobs[-1].job_id}")
    if page.live_workers == 0 and any(job.state == "waiting" for job in page.jobs):
        aside("no worker is alive: nothing is claimed until one is", "yellow")


def _row(job: JobLine, page: JobPage, budgets: Mapping[str, int]) -> list[Text]:
    budget = budget_of(job, budgets)
    return [
        Text(str(job.job_id)),
        Text(job.kind),
        Text(_state(job), style="red" if job.state == "discarded" else ""),
        Text(f"{job.attempt}/{'?' if budget is None else budget}"),
        Text(_next(job, page.now)),
        Text(job.error_code or job.code or ""),
        Text(_note(job, page)),
    ]


def _state(job: JobLine) -> str:
    if job.cause is None:
        return job.state
    return f"{job.state}: {job.cause.replace('_', ' ')}"


def _next(job: JobLine, now: datetime) -> str:
    if job.died_at is not None:
        return f"died {distance(job.died_at, now)}"
    if job.state == "running":
        until = job.lease_until
        return "" if until is None else f"lease ends {distance(until, now)}"
    if job.run_at is None:
        return "soon" if job.gate_closed_since is None else "not known"
    return distance(job.run_at, now) if job.run_at > now else "now"


def _note(job: JobLine, page: JobPage) -> str:
    notes = [
        (job.owner_host is not None, f"at {job.owner_host}:{job.owner_pid}"),
        (job.cancel_requested, "cancel requested"),
        (job.state == "discarded", str(job.code)),
        (job.waits_behind is not None, f"behind {job.waits_behind}"),
        (job.queue_paused_until is not None, f"queue {job.queue} is paused"),
        (job.gate_closed_since is not None, f"waits for {opening(job)}"),
        (not job.known and page.live_workers > 0, "unknown kind"),
    ]
    return "; ".join(note for is_so, note in notes if is_so)


@command
@argument("job_id", metavar="ID", type=click.UUID)
@as_json
@click.pass_obj
def job(installation: Installation, job_id: UUID, *, as_json: bool) -> None:
    r"""Tell everything that happened to one job, also after it has succeeded.

    Read from the job's own stream.  Of its arguments only the names are shown.

    \b
    Examples:
      counterfoil job 01a229c8-15d6-7b9a-a414-da3f4ad17f77
    """
    with installation.open() as services:
        story = services.job(job_id)
    if story is None:
        what = "job"
        told = f"{job_id}; `counterfoil jobs` lists them, `counterfoil why` any id"
        raise NotFoundError(what, told)
    if as_json:
        document(story)
        return
    named = ", ".join(story.args) or "none"
    say(
        f"job {story.job_id}: {story.kind}, queue {story.queue}, {story.state}; "
        f"arguments: {named}; correlation {story.correlation_id}"
    )
    show_events(story.events, of_one_stream=True)
