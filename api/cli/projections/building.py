"""`projections rebuild` and `projections verify`."""

from collections.abc import Callable, Sequence
from typing import Final

import rich_click as click

from api.builds import Builds
from api.cli.operating import instruction_of
from api.cli.options import argument, as_json, command, option
from api.cli.output import complain, document
from api.cli.projections.progress import progress
from api.cli.projections.verdict import (
    tell_abandoned,
    tell_rebuilt,
    tell_verified,
)
from api.installation import Installation
from domain.errors import CounterfoilError

_REASON: Final = "rebuilt on request"
_EXIT_INTERRUPTED: Final = 130
_INTERRUPTED: Final = (
    "interrupted; what is done is kept, and nothing that is read has changed: "
    "`counterfoil projections rebuild {name}` goes on, --abandon drops it"
)

_name = argument("name", metavar="[NAME]", required=False)


@command
@_name
@option("--all", "is_all", is_flag=True, help="Every projection, one after another.")
@option(
    "--abandon",
    is_flag=True,
    help="Drop what is half done instead of going on with it, and make nothing.",
)
@option(
    "--reason",
    default=_REASON,
    show_default=True,
    metavar="TEXT",
    help="Why, in 3 to 400 characters; it stays in the log.",
)
@as_json
@click.pass_obj
@click.pass_context
def rebuild(  # noqa: PLR0913 - the options of the command, one to one
    context: click.Context,
    installation: Installation,
    *,
    name: str | None,
    is_all: bool,
    abandon: bool,
    reason: str,
    as_json: bool,
) -> None:
    r"""Make the rows of a projection anew from the log, beside those that are read.

    Lists answer from the old rows, which go on following the log, until the new ones
    are as far; then all of them are swapped at once, and no read ever goes back.  Safe
    to interrupt and to kill: the same command goes on where it was, or says why it
    begins anew.  One that is paused is rebuilt up to now and stays paused; one that is
    outdated is up to date afterwards.

    \b
    Examples:
      counterfoil projections rebuild jobs
      counterfoil projections rebuild --all --reason "new version"
      counterfoil projections rebuild jobs --abandon
    """
    instruction = instruction_of(reason)

    def deal_with(builds: Builds, each: str) -> bool:
        if abandon:
            dropped = builds.abandon(each)
            document(dropped) if as_json else tell_abandoned(dropped)
            return True
        try:
            with progress() as tell:
                rebuilt = builds.rebuild(each, instruction, tell)
        except KeyboardInterrupt:
            complain(_INTERRUPTED.format(name=each))
            context.exit(_EXIT_INTERRUPTED)
        document(rebuilt) if as_json else tell_rebuilt(rebuilt)
        return True

    with installation.open() as services:
        names = _chosen(context, services.builds, name, is_all=is_all)
        is_done = _each(services.builds, names, deal_with)
    context.exit(0 if is_done else 1)


@command
@_name
@option("--all", "is_all", is_flag=True, help="Every projection, one after another.")
@as_json
@click.pass_obj
@click.pass_context
def verify(
    context: click.Context,
    installation: Installation,
    *,
    name: str | None,
    is_all: bool,
    as_json: bool,
) -> None:
    r"""Fold the log once more, and compare the result with the rows that are read.

    Both are compared at one and the same position, every column of every row.  Tells
    how many rows are missing, too many or different, and of some their keys and which
    columns differ, never what is in them.  Exits with 1 if there are any; nothing is
    repaired: that is what `rebuild` is for.  Whoever follows the log waits for a
    moment.

    \b
    Examples:
      counterfoil projections verify jobs
      counterfoil projections verify --all --json
    """

    def deal_with(builds: Builds, each: str) -> bool:
        with progress() as tell:
            verified = builds.verify(each, tell)
        document(verified) if as_json else tell_verified(verified)
        return verified.is_right

    with installation.open() as services:
        names = _chosen(context, services.builds, name, is_all=is_all)
        is_right = _each(services.builds, names, deal_with)
    context.exit(0 if is_right else 1)


def _chosen(
    context: click.Context, builds: Builds, name: str | None, *, is_all: bool
) -> Sequence[str]:
    if (name is None) == (not is_all):
        msg = f"name a projection, or say --all; there are {', '.join(builds.names)}."
        raise click.UsageError(msg, context)
    return builds.names if name is None else (name,)


def _each(
    builds: Builds, names: Sequence[str], deal_with: Callable[[Builds, str], bool]
) -> bool:
    """Return whether all went well; one that fails keeps no other from its turn."""
    is_well = True
    for name in names:
        try:
            is_well = deal_with(builds, name) and is_well
        except CounterfoilError as error:
            complain(str(error))
            is_well = False
    return is_well
