"""The group `workers`, and its commands: `list` and `drain`."""

import rich_click as click

from api.cli.operating import instruction_of, reasoned
from api.cli.options import argument, as_json, command, group
from api.cli.output import document
from api.cli.queues.told import show_workers, tell_drained
from api.installation import Installation


@group
def workers() -> None:
    r"""Look after worker processes: which there are, and asking one to claim no more.

    \b
    Examples:
      counterfoil workers list
      counterfoil workers drain 0b5e7a3c-4f7e-4b5e-9f0e-2d1c6a7b8c9d --reason "moves"
    """


@command
@as_json
@click.pass_obj
def list_workers(installation: Installation, *, as_json: bool) -> None:
    r"""Show the processes that were heard of within a day, and what they hold.

    `alive`: it claims.  `draining`: it claims no more, and ends what it runs.
    `drained`: nothing is left.  `silent`: it was not heard of for a minute.

    \b
    Examples:
      counterfoil workers list
      counterfoil workers list --json
    """
    with installation.open() as services:
        page = services.queries.workers()
    document(page) if as_json else show_workers(page)


@command
@argument("boot", metavar="ID")
@reasoned
@as_json
@click.pass_obj
def drain(installation: Installation, boot: str, *, reason: str, as_json: bool) -> None:
    r"""Ask a worker to claim nothing more; it knows within a second.

    It gives back what it has not begun, ends what it runs, and then stays idle until it
    is stopped: no supervisor starts another in its place.  Started again it claims.

    \b
    Examples:
      counterfoil workers drain 0b5e7a3c-4f7e-4b5e-9f0e-2d1c6a7b8c9d --reason "moves"
    """
    instruction = instruction_of(reason)
    with installation.open() as services:
        done = services.drain_worker(boot, instruction)
        (line,) = services.queries.workers(done.after.boot).workers
    if as_json:
        document({"worker": line, "position": done.position})
    else:
        tell_drained(line)


for _name_of, _command in (("list", list_workers), ("drain", drain)):
    workers.add_command(_command, _name_of)
