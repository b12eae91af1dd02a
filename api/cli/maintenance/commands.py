"""`maintenance`, `maintenance open` and `maintenance close`."""

import rich_click as click

from api.cli.maintenance.told import show, tell_closed, tell_opened
from api.cli.operating import instruction_of
from api.cli.options import as_json, command, group_that_tells, option
from api.cli.output import document
from api.installation import Installation
from application.operators.maintenance import Planned
from domain.maintenance.gates import GOODS, PANEL, SCOPES, is_scope
from domain.maintenance.parse import LONGEST_NOTICE, LONGEST_REASON, SHORTEST


def _known(_context: click.Context, _parameter: click.Parameter, scope: str) -> str:
    if not is_scope(scope):
        msg = f"it is one of {', '.join(SCOPES)}, or {GOODS} and a provider's name."
        raise click.BadParameter(msg)
    return scope


_scope = option(
    "--scope",
    callback=_known,
    metavar=f"{'|'.join(SCOPES)}|{GOODS}PROVIDER",
    default=PANEL,
    show_default=True,
    help="What is closed: the panel, one provider of goods, or whatever asks anybody.",
)


_reasoned = option(
    "--reason",
    required=True,
    metavar="TEXT",
    help=f"Why, in {SHORTEST} to {LONGEST_REASON} characters; it stays in the log.",
)


@group_that_tells
@as_json
@click.pass_context
def maintenance(context: click.Context, *, as_json: bool) -> None:
    r"""Show what is closed for maintenance; `open` and `close` change it.

    While a window is open, fulfilment of its scope waits: nothing is asked of the
    panel, no attempt is spent and nobody is told of a failure.  Orders are still
    settled, refunds and operations still accepted, and jobs of your own kinds still
    run.  An attempt that has begun ends as it would.  When the last window over it is
    closed, what has waited goes on, spread over a minute.

    \b
    Examples:
      counterfoil maintenance
      counterfoil maintenance open --reason "panel moves" \
        --notice-ru "Идут технические работы" --notice-en "Maintenance" \
        --expected-return 2030-01-31T04:00:00Z
      counterfoil maintenance close --reason "panel is back"
    """
    if context.invoked_subcommand is not None:
        if as_json:
            command = f"maintenance {context.invoked_subcommand} … --json"
            msg = f"--json goes behind the command: `{command}`."
            raise click.UsageError(msg, context)
        return
    installation: Installation = context.obj
    with installation.open() as services:
        page = services.maintenance_state()
    if as_json:
        document(page)
    else:
        show(page)


@command
@_scope
@option(
    "--notice-ru",
    required=True,
    metavar="TEXT",
    help=f"For customers, in Russian: {SHORTEST} to {LONGEST_NOTICE} characters.",
)
@option("--notice-en", required=True, metavar="TEXT", help="The same in English.")
@option(
    "--expected-return",
    metavar="INSTANT",
    help="When it will be over, such as 2030-01-31T04:00:00Z; nothing opens by itself.",
)
@_reasoned
@as_json
@click.pass_obj
def open_window(  # noqa: PLR0913 - the options of the command, one to one
    installation: Installation,
    *,
    scope: str,
    notice_ru: str,
    notice_en: str,
    expected_return: str | None,
    reason: str,
    as_json: bool,
) -> None:
    r"""Close the gates of a scope until `maintenance close`.

    The reason is for operators; the notices are for customers and go out with the
    message `maintenance.opened`.  The same once more changes nothing.  A window keeps
    its words: to say something else without letting work through in between, open the
    other scope with the new words, then close this one.

    \b
    Examples:
      counterfoil maintenance open --reason "panel moves" \
        --notice-ru "Идут технические работы" --notice-en "Maintenance"
    """
    planned = Planned(
        scope=scope,
        notice_ru=notice_ru,
        notice_en=notice_en,
        expected_return=expected_return,
    )
    instruction = instruction_of(reason, LONGEST_REASON)
    with installation.open() as services:
        maintained = services.maintenance.open(planned, instruction)
    if as_json:
        document(maintained)
    else:
        tell_opened(maintained)


@command
@_scope
@_reasoned
@as_json
@click.pass_obj
def close_window(
    installation: Installation, *, scope: str, reason: str, as_json: bool
) -> None:
    r"""Open the gates of a scope again; what has waited goes on within a minute.

    Gates that a window of another scope closes too stay closed, and it says so.
    Closing what is not open changes nothing.

    \b
    Examples:
      counterfoil maintenance close --reason "panel is back"
    """
    instruction = instruction_of(reason, LONGEST_REASON)
    with installation.open() as services:
        maintained = services.maintenance.close(scope, instruction)
    if as_json:
        document(maintained)
    else:
        tell_closed(maintained)


maintenance.add_command(open_window, "open")
maintenance.add_command(close_window, "close")
