"""The group `projections`, and all its commands."""

from api.cli.options import group
from api.cli.projections.building import rebuild, verify
from api.cli.projections.feed import holders


@group
def projections() -> None:
    r"""Look after projections: the tables that lists and histories are read from.

    A projection follows the log and keeps its rows in a table of its own; everything
    in it can be folded again from the log.  Workers carry projections forward beside
    their jobs; each one is led by one process at a time, and another takes over within
    15 s of its death.

    \b
    Examples:
      counterfoil projections holders
      counterfoil projections rebuild jobs
    """


for _name, _command in (("holders", holders), ("rebuild", rebuild), ("verify", verify)):
    projections.add_command(_command, _name)
