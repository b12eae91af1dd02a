"""`retry`, `cancel` and `operate`: what a person decides, with a reason, on record."""

import getpass
import os
from collections.abc import Callable

import rich_click as click

from api.cli.options import argument, as_json, command, option
from api.cli.output import document, say
from api.cli.parameters import named, parameters
from api.installation import Installation
from application.operators.action import Done
from application.operators.instruction import LONGEST_REASON, Instruction, instruct
from application.operators.operate import Operated, Wanted
from domain.errors import InvalidRequestError
from domain.fulfillment.operations import BY_OPERATORS

_OPERATOR = "COUNTERFOIL_OPERATOR"


def reasoned(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command the option by which a person says why."""
    return option(
        "--reason",
        required=True,
        metavar="TEXT",
        help="Why, in 3 to 400 characters; it stays in the log.",
    )(function)


@command
@argument("key", metavar="ID")
@reasoned
@as_json
@click.pass_obj
def retry(installation: Installation, key: str, *, reason: str, as_json: bool) -> None:
    r"""Revive a dead job, and the operation that it serves, with a fresh budget.

    ID is the job's or the operation's.  What has succeeded is final, and so is a
    cancelled operation.  Refused while a live job has the same unique key.  The log
    names you: COUNTERFOIL_OPERATOR, or the user of this machine.

    \b
    Examples:
      counterfoil dead-letters
      counterfoil retry 01a229c8-15d6-7b9a-a414-da3f4ad17f77 --reason "panel is back"
    """
    instruction = instruction_of(reason)
    with installation.open() as services:
        done = services.retry(key, instruction)
    _tell(done, _RETRIED, as_json=as_json)


@command
@argument("key", metavar="ID")
@reasoned
@as_json
@click.pass_obj
def cancel(installation: Installation, key: str, *, reason: str, as_json: bool) -> None:
    r"""End a job that is not finished, and the operation that it serves.

    ID is the job's or the operation's.  What waits is cancelled at once; what runs is
    asked to stop and knows within one heartbeat (15 s), unless it finishes before.
    A failed operation is cancelled too: no retry revives it any more.

    \b
    Examples:
      counterfoil cancel 01a229c8-15d6-7b9a-a414-da3f4ad17f77 --reason "refunded"
    """
    instruction = instruction_of(reason)
    with installation.open() as services:
        done = services.cancel(key, instruction)
    _tell(done, _CANCELLED, as_json=as_json)


@command
@argument("entitlement")
@argument("operation", type=click.Choice(BY_OPERATORS))
@parameters
@option(
    "--key",
    metavar="TEXT",
    help="Of this request: the same once more asks for nothing new.",
)
@option("--tenant", default="default", show_default=True, help="Of the customer.")
@reasoned
@as_json
@click.pass_obj
def operate(  # noqa: PLR0913 - the options of the command, one to one
    installation: Installation,
    /,
    entitlement: str,
    operation: str,
    *,
    key: str | None,
    tenant: str,
    reason: str,
    as_json: bool,
    **given: object,
) -> None:
    r"""Ask for an operation on a customer's access; a worker carries it to the panel.

    ENTITLEMENT is its id, or customer:ID, or customer:ID:SLOT.  What is asked for is
    what the customer is owed from then on, so no reconciliation takes it back.  A pause
    stops the time: resuming gives it back.  A reconciliation looks first, puts on
    record in what the panel differs, and repairs it; one per quarter of an hour.

    \b
    Examples:
      counterfoil operate customer:anna pause --reason "on holiday"
      counterfoil operate customer:anna set_limits --device-limit 5 --reason "asked"
      counterfoil operate customer:anna:2 reconcile --reason "looks wrong"
    """
    instruction = instruction_of(reason)
    wanted = Wanted(
        entitlement=entitlement,
        operation=operation,
        parameters=named(given),
        key=key,
        tenant_id=tenant,
    )
    with installation.open() as services:
        operated = services.operate(wanted, instruction)
    _tell_operated(operated, as_json=as_json)


def instruction_of(reason: str, longest: int = LONGEST_REASON) -> Instruction:
    """Return what the operator of this process asks for, and why.

    Raises:
        click.BadParameter: the reason, or the operator's name, is none.
    """
    try:
        return instruct(_operator(), reason, longest)
    except InvalidRequestError as error:
        raise click.BadParameter(error.detail, param_hint=f"--{error.path}") from error


def _operator() -> str:
    named = os.environ.get(_OPERATOR, "").strip()
    if named:
        return named
    try:
        return getpass.getuser()
    except OSError:
        return f"uid {os.getuid()}"


_RETRIED = {
    "job.retried": "the job waits again, its budget fresh",
    "fulfillment.retried": "the operation is pending again",
}
_CANCELLED = {
    "job.cancelled": "the job is cancelled",
    "fulfillment.cancelled": "the operation is cancelled",
    "job.cancel_requested": "the job runs; its worker is asked to stop",
}


def _tell_operated(operated: Operated, *, as_json: bool) -> None:
    if as_json:
        document(operated)
        return
    how = f"asked for before, {operated.state}" if operated.replayed else "asked for"
    say(f"{operated.operation} is {how}: operation {operated.operation_id}")


def _tell(done: Done, words: dict[str, str], *, as_json: bool) -> None:
    if as_json:
        document(done)
        return
    told = [words.get(tag, tag) for tag in done.events]
    say(*(told or ["nothing to do: it is so already"]))
