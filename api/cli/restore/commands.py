"""The group `restore-guard`, and its commands: `status`, `engage` and `release`."""

import rich_click as click

from api.cli.operating import instruction_of, reasoned
from api.cli.options import as_json, command, group, option
from api.cli.output import document
from api.cli.restore.told import show, tell_engaged, tell_released
from api.installation import Installation
from application.operators.quarantine import Wish
from domain.goods.quarantine import BY_PEOPLE, OPERATOR


@group
def restore_guard() -> None:
    r"""Keep a restored database from buying what was bought before.

    A database that was restored, or a standby that was promoted, may have forgotten
    purchases.  So nothing is bought in it until its open deliveries are reconciled
    with their providers, or a person has looked at them.  Signs that engage the guard
    by themselves: another cluster, another timeline, copied tables, or a purchase in
    this host's journal that the log lacks.

    \b
    Examples:
      counterfoil restore-guard status
      counterfoil restore-guard engage --reason "restoring last night's backup"
      counterfoil restore-guard release --reason "all 12 deliveries are reconciled"
    """


@command
@as_json
@click.pass_obj
def status(installation: Installation, *, as_json: bool) -> None:
    r"""Show whether anything may be bought, what speaks against it, and what to do.

    The list of work: deliveries that are neither reconciled nor in review yet, and
    purchases that only a journal remembers.  `position` is the end of the log: note it
    on the old server before a switchover, and compare.

    \b
    Examples:
      counterfoil restore-guard status
      counterfoil restore-guard status --json
    """
    with installation.open() as services:
        state = services.restore_guard.status()
    document(state) if as_json else show(state)


@command
@option(
    "--sign",
    type=click.Choice(BY_PEOPLE),
    default=OPERATOR,
    show_default=True,
    help="Who engages it: a person, or a script that restores.",
)
@option(
    "--planned",
    is_flag=True,
    help="Only stop buying, for a switchover that loses nothing; mark nothing.",
)
@reasoned
@as_json
@click.pass_obj
def engage(
    installation: Installation, *, sign: str, planned: bool, reason: str, as_json: bool
) -> None:
    r"""Stop buying at once, and mark every open delivery as perhaps bought before.

    Orders are still settled and access is still fulfilled.  What was sent before still
    ends as its provider says.  With --planned nothing is marked: engage it on the old
    server, wait until the standby has it, promote the standby, release it there.  Safe
    to repeat; what was left undone is done by the workers, too.

    \b
    Examples:
      counterfoil restore-guard engage --reason "restoring last night's backup"
      counterfoil restore-guard engage --planned --reason "moving to db2"
    """
    wish = Wish(sign=sign, is_planned=planned)
    instruction = instruction_of(reason)
    with installation.open() as services:
        guarded = services.restore_guard.engage(wish, instruction)
    document(guarded) if as_json else tell_engaged(guarded)


@command
@option(
    "--override",
    is_flag=True,
    help="Release although deliveries are left; those are still not bought blindly.",
)
@reasoned
@as_json
@click.pass_obj
def release(
    installation: Installation, *, override: bool, reason: str, as_json: bool
) -> None:
    r"""Let buying go on, and take this cluster for the right one from now on.

    Refused as long as deliveries are neither reconciled nor in review.  Before you
    override, look at `restore-guard status`: purchases whose orders this database
    lacks too are known to the journal alone, and an order that is settled once more is
    bought once more.

    \b
    Examples:
      counterfoil restore-guard release --reason "all deliveries are reconciled"
      counterfoil restore-guard release --override --reason "provider is closed down"
    """
    instruction = instruction_of(reason)
    with installation.open() as services:
        guarded = services.restore_guard.release(instruction, is_override=override)
    document(guarded) if as_json else tell_released(guarded)


for _command in (status, engage, release):
    restore_guard.add_command(_command)
