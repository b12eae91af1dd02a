"""`kinds`: what this installation can run, and which package brings it."""

import rich_click as click
from rich.text import Text

from api.cli.options import as_json, command
from api.cli.output import complain, document, show_rows
from api.installation import Installation


@command
@as_json
@click.pass_obj
@click.pass_context
def kinds(context: click.Context, installation: Installation, *, as_json: bool) -> None:
    r"""List the kinds of job that a worker started here would know.

    Kinds of other packages are found by their entry points, group counterfoil.kinds.
    Whatever is wrong with one is told, and the exit code is 1: no worker starts.
    Needs no database.  With --json each line is one kind.

    \b
    Examples:
      counterfoil kinds
      counterfoil kinds --json
    """
    table = installation.kinds()
    if as_json:
        for line in table.lines:
            document(line)
    else:
        names = ("kind", "package", "queue", "attempts", "lease", "deadline")
        rows = [
            [
                Text(line.kind),
                Text(line.package),
                Text(line.queue),
                Text(str(line.max_attempts)),
                Text(f"{line.lease_seconds} s"),
                Text(f"{line.deadline_seconds} s"),
            ]
            for line in table.lines
        ]
        show_rows(names, rows)
    for fault in table.faults:
        complain(fault)
    context.exit(1 if table.faults else 0)
