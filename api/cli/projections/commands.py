"""The group `projections`, and its commands: `list`, `pause` and `resume`."""

from typing import Final

import rich_click as click

from api.cli.operating import instruction_of, reasoned
from api.cli.options import argument, as_json, command, group
from api.cli.output import document
from api.cli.projections.building import rebuild, verify
from api.cli.projections.feed import holders
from api.cli.projections.told import (
    show_one,
    show_projections,
    tell_paused,
    tell_resumed,
)
from api.installation import Installation
from application.errors import NotFoundError

_PROJECTION: Final = "projection"

_name = argument("name", metavar="NAME")


@group
def projections() -> None:
    r"""Look after projections: the tables that lists and histories are read from.

    A projection follows the log and keeps its rows in a table of its own; everything
    in it can be folded again from the log.  Workers carry projections forward beside
    their jobs; each one is led by one process at a time, and another takes over within
    15 s of its death.

    \b
    Examples:
      counterfoil projections list
      counterfoil projections holders
      counterfoil projections rebuild jobs
      counterfoil projections pause jobs --reason "moving its table"
    """


@command
@argument("name", metavar="[NAME]", required=False)
@as_json
@click.pass_obj
def list_projections(
    installation: Installation, *, name: str | None, as_json: bool
) -> None:
    r"""Show where projections stand; of one by its NAME also what it has set aside.

    Lag is told in positions of the log and as the age of the oldest event that the
    rows lack: 0 when they lack none.  A projection that is `outdated` was folded by
    another version: rebuild it.  One that is `unowned` is led by no process: a worker
    is missing, or the one that died is waited for.  An event that cannot be folded is
    set aside with all that follows in its stream; the rest goes on.

    \b
    Examples:
      counterfoil projections list
      counterfoil projections list jobs
      counterfoil projections list --json
    """
    with installation.open() as services:
        page = services.queries.projections()
        found = [line for line in page.projections if line.name == name]
        aside = services.queries.projections.set_aside(name) if name is not None else ()
    if name is None:
        document(page) if as_json else show_projections(page)
        return
    if not found:
        raise NotFoundError(_PROJECTION, name)
    if as_json:
        document({"now": page.now, "projection": found[0], "setAside": aside})
    else:
        show_one(page, found[0], aside)


@command
@_name
@reasoned
@as_json
@click.pass_obj
def pause(installation: Installation, name: str, *, reason: str, as_json: bool) -> None:
    r"""Let the rows of a projection stay as they are until it is resumed.

    Lists still answer, from what the rows say.  Refused when somebody else has paused
    it, or you have for another reason: you are told who and when.

    \b
    Examples:
      counterfoil projections pause jobs --reason "moving its table"
    """
    instruction = instruction_of(reason)
    with installation.open() as services:
        switched = services.projections.pause(name, instruction)
    document(switched) if as_json else tell_paused(switched)


@command
@_name
@reasoned
@as_json
@click.pass_obj
def resume(
    installation: Installation, name: str, *, reason: str, as_json: bool
) -> None:
    r"""Let a projection follow the log again, and try again what it has set aside.

    What was set aside is folded anew from its streams' beginning; what still cannot be
    folded stays set aside.  Safe to repeat.

    \b
    Examples:
      counterfoil projections resume jobs --reason "table is moved"
    """
    instruction = instruction_of(reason)
    with installation.open() as services:
        switched = services.projections.resume(name, instruction)
    document(switched) if as_json else tell_resumed(switched)


for _name_of, _command in (
    ("list", list_projections),
    ("pause", pause),
    ("resume", resume),
    ("holders", holders),
    ("rebuild", rebuild),
    ("verify", verify),
):
    projections.add_command(_command, _name_of)
