"""The command `history`: one id's attempts, oldest first; or how many there were."""

from collections.abc import Iterable
from typing import Final

import rich_click as click
from rich.text import Text

from api.cli.options import argument, as_json, at_least, command, option
from api.cli.output import aside, document, say, show_rows, tell_as_of
from api.cli.timeline import short
from api.cli.times import at
from api.installation import Installation
from application.errors import NotFoundError
from projections.queries.attempts import (
    MOST,
    AttemptCounts,
    AttemptLine,
    History,
    HistoryFilter,
    TypeCount,
)
from projections.queries.page import COUNTED

_BEGUN: Final = {
    "job.claimed": "jobs were claimed",
    "fulfillment.attempt_started": "operations were carried to the panel",
    "goods.purchase_submitted": "providers were asked to buy",
}
_BAD: Final = frozenset({"discarded", "failed", "needs_review"})
_GOOD: Final = frozenset({"succeeded", "delivered"})
_MOST_POSITION: Final = 2**63 - 1


@command
@argument("key", metavar="[ID]", required=False)
@option(
    "--tenant",
    help="Whose order it is (default when left out); counts: of this tenant alone.",
)
@option(
    "--limit",
    type=click.IntRange(1, MOST),
    default=MOST,
    show_default=True,
    help="How many changes at most.",
)
@option(
    "--after",
    type=click.IntRange(0, _MOST_POSITION),
    default=0,
    metavar="POSITION",
    help="Read on after this position.",
)
@option(
    "--exact", is_flag=True, help=f"Without an ID: count on beyond {COUNTED:,} of each."
)
@at_least
@as_json
@click.pass_obj
def history(  # noqa: PLR0913 - the options of the command, one to one
    installation: Installation,
    *,
    key: str | None,
    tenant: str | None,
    limit: int,
    after: int,
    exact: bool,
    at_least: int | None,
    as_json: bool,
) -> None:
    r"""Tell what a job, an operation, a delivery or an order went through.

    ID is a job's, an operation's, a delivery's, or the shop's order: then everything
    that belongs to it, the oldest first.  Each line is one change: when, which attempt,
    which code, and who.  Arguments, results and texts of errors are never told.
    Without an ID: how often what has happened to all of them.

    \b
    Examples:
      counterfoil history A-1003
      counterfoil history 01a229c8-15d6-7b9a-a414-da3f4ad17f77 --json
      counterfoil history
    """
    if key is None:
        with installation.open() as services:
            counts = services.queries.attempts.count(
                tenant,
                None if exact else COUNTED,
                at_least=services.at_least(at_least),
            )
        document(counts) if as_json else _show_counts(counts)
        return
    if exact:
        rule = "--exact goes without an ID: one history is counted whole"
        raise click.UsageError(rule)
    wanted = HistoryFilter(
        key=key.strip(), tenant_id=tenant or "default", after=after, limit=limit
    )
    with installation.open() as services:
        found = services.queries.attempts(wanted, at_least=services.at_least(at_least))
    if found is None:
        what = "job, operation, delivery, order or correlation"
        told = f"{key} of tenant {wanted.tenant_id}; `counterfoil why` knows other ids"
        raise NotFoundError(what, told)
    document(found) if as_json else _show(found)


def _show(history: History) -> None:
    if history.items:
        is_one = history.of in ("job", "operation", "delivery")
        names = ("when", "what", "of", "attempt", "status", "code", "by")
        names = (*names[:2], "version", *names[3:]) if is_one else names
        show_rows(names, [_row(each, is_one=is_one) for each in history.items])
        say("", *_totals(history.counts))
    else:
        aside("nothing of it is read yet")
    if history.next is not None:
        aside(f"there is more: add --after {history.next}")
    tell_as_of(history.as_of)


def _row(line: AttemptLine, *, is_one: bool) -> list[Text]:
    style = "red" if line.status in _BAD else ""
    style = "green" if line.status in _GOOD else style
    of = str(line.version) if is_one else f"{line.stream_kind} …{short(line.stream_id)}"
    codes = [code for code in (line.code, line.error_code) if code]
    token = "" if line.token is None else f" token {line.token}"
    return [
        Text(at(line.recorded_at)),
        Text(line.type, style=style),
        Text(of),
        Text("" if line.attempt is None else str(line.attempt)),
        Text(line.status or ""),
        Text(" after ".join(codes)),
        Text(f"{line.actor_type} {line.actor_id}{token}"),
    ]


def _totals(counts: Iterable[TypeCount]) -> list[str]:
    begun = [
        f"{_told(each)} times {_BEGUN[each.type]}"
        for each in counts
        if each.type in _BEGUN
    ]
    return [f"attempts: {'; '.join(begun) or 'none has begun'}"]


def _told(each: TypeCount) -> str:
    least = "" if each.count.relation == "eq" else "at least "
    return f"{least}{each.count.value}"


def _show_counts(counts: AttemptCounts) -> None:
    if counts.counts:
        show_rows(
            ("what", "how often"),
            [[Text(each.type), Text(_told(each))] for each in counts.counts],
        )
        say("")
    say(*_totals(counts.counts))
    tell_as_of(counts.as_of)
