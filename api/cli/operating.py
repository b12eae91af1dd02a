"""`retry` and `cancel`: what an operator decides, with a reason, on record."""

import getpass
import os
from collections.abc import Callable

import rich_click as click

from api.cli.options import argument, as_json, command, option
from api.cli.output import document, say
from api.installation import Installation
from application.operators.action import Done
from application.operators.instruction import Instruction, instruct
from domain.errors import InvalidRequestError

_OPERATOR = "COUNTERFOIL_OPERATOR"


def _reasoned(function: Callable[..., None]) -> Callable[..., None]:
    return option(
        "--reason",
        required=True,
        metavar="TEXT",
        help="Why, in 3 to 400 characters; it stays in the log.",
    )(function)


@command
@argument("key", metavar="ID")
@_reasoned
@as_json
@click.pass_obj
def retry(installation: Installation, key: str, *, reason: str, as_json: bool) -> None:
    r"""Revive a dead job, and the operation that it serves, with a fresh budget.

    ID is the job's or the operation's.  What has succeeded is final, and so is a
    cancelled operation.  Refused while a live job has the same unique key.  The log
    names you: COUNTERFOIL_OPERATOR, or the user of this machine.

    \b
    Examples:
      counterfoil jobs --state dead
      counterfoil retry 01a229c8-15d6-7b9a-a414-da3f4ad17f77 --reason "panel is back"
    """
    instruction = _instruction(reason)
    with installation.open() as services:
        done = services.retry(key, instruction)
    _tell(done, _RETRIED, as_json=as_json)


@command
@argument("key", metavar="ID")
@_reasoned
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
    instruction = _instruction(reason)
    with installation.open() as services:
        done = services.cancel(key, instruction)
    _tell(done, _CANCELLED, as_json=as_json)


def _instruction(reason: str) -> Instruction:
    try:
        return instruct(_operator(), reason)
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


def _tell(done: Done, words: dict[str, str], *, as_json: bool) -> None:
    if as_json:
        document(done)
        return
    told = [words.get(tag, tag) for tag in done.events]
    say(*(told or ["nothing to do: it is so already"]))
