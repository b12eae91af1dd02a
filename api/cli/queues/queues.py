"""The group `queues`, and its commands: `list`, `pause`, `resume` and `limit`."""

import re
from datetime import timedelta
from typing import Final

import rich_click as click

from api.cli.operating import instruction_of, reasoned
from api.cli.options import argument, as_json, command, group, option
from api.cli.output import document
from api.cli.queues.told import show_queues, tell_queue
from api.installation import Installation, Services
from application.errors import NotFoundError
from application.queues.rows import Changed
from domain.queues.queue import MOST_CONCURRENT, Queue

_WHAT: Final = "queue"
_LASTING: Final = re.compile(r"([0-9]{1,5})([smh])")
_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours"}

_name = argument("name", metavar="QUEUE")


@group
def queues() -> None:
    r"""Look after queues: pause and resume them, and limit how much runs at once.

    A pause lets nothing of the queue be claimed, by any worker; what runs goes on.  It
    ends by itself, at most 24 hours later.  A limit is the whole installation's, and
    exact whoever is killed or frozen.

    \b
    Examples:
      counterfoil queues list
      counterfoil queues pause bulk --for 2h --reason "the reports are late"
      counterfoil queues limit bulk 3 --reason "the provider asks for it"
    """


def _lasting(
    _context: click.Context, _parameter: click.Parameter, told: str
) -> timedelta:
    found = _LASTING.fullmatch(told)
    if found is None:
        msg = "a number and s, m or h, such as 90m."
        raise click.BadParameter(msg)
    return timedelta(**{_UNITS[found[2]]: int(found[1])})


@command
@argument("name", metavar="[QUEUE]", required=False)
@as_json
@click.pass_obj
def list_queues(installation: Installation, *, name: str | None, as_json: bool) -> None:
    r"""Show queues: pauses and limits, how many jobs run, and how many are due.

    \b
    Examples:
      counterfoil queues list
      counterfoil queues list bulk --json
    """
    with installation.open() as services:
        page = services.queries.queues(name)
    if name is not None and not page.queues:
        raise NotFoundError(_WHAT, name)
    document(page) if as_json else show_queues(page)


@command
@_name
@option(
    "--for",
    "lasts",
    callback=_lasting,
    default="1h",
    show_default=True,
    metavar="DURATION",
    help="How long, at most 24h; then it ends by itself.",
)
@reasoned
@as_json
@click.pass_obj
def pause(
    installation: Installation,
    name: str,
    *,
    lasts: timedelta,
    reason: str,
    as_json: bool,
) -> None:
    r"""Let nothing of a queue be claimed for a while; what runs goes on.

    Jobs are still taken in, and wait.  Once more, with the same reason, renews it.
    Refused when somebody else has paused it, or you have for another reason.

    \b
    Examples:
      counterfoil queues pause bulk --reason "the reports are late"
      counterfoil queues pause bulk --for 90m --reason "the reports are late"
    """
    instruction = instruction_of(reason)
    with installation.open() as services:
        until = services.queries.queues(name).now + lasts
        done = services.control_queues.pause(name, until, instruction)
        _tell(services, done, as_json=as_json)


@command
@_name
@reasoned
@as_json
@click.pass_obj
def resume(
    installation: Installation, name: str, *, reason: str, as_json: bool
) -> None:
    r"""Let a queue be claimed again, whoever paused it.

    \b
    Examples:
      counterfoil queues resume bulk --reason "the reports are done"
    """
    instruction = instruction_of(reason)
    with installation.open() as services:
        done = services.control_queues.resume(name, instruction)
        _tell(services, done, as_json=as_json)


@command
@_name
@argument("concurrency", metavar="N|none")
@reasoned
@as_json
@click.pass_obj
def limit(
    installation: Installation,
    name: str,
    concurrency: str,
    *,
    reason: str,
    as_json: bool,
) -> None:
    r"""Let at most N jobs of a queue run at once, over all workers; `none`: no limit.

    Beside it each worker keeps to its own threads (COUNTERFOIL_QUEUE_BULK and its
    like).  What runs beyond a new limit goes on; nothing is claimed until fewer run.

    \b
    Examples:
      counterfoil queues limit bulk 3 --reason "the provider asks for it"
      counterfoil queues limit bulk none --reason "no longer needed"
    """
    instruction = instruction_of(reason)
    most = _number(concurrency)
    with installation.open() as services:
        done = services.control_queues.limit(name, most, instruction)
        _tell(services, done, as_json=as_json)


def _number(told: str) -> int | None:
    if told == "none":
        return None
    if not (told.isascii() and told.isdecimal()) or len(told) > len(
        str(MOST_CONCURRENT)
    ):
        msg = f"a number from 1 to {MOST_CONCURRENT}, or none."
        raise click.BadParameter(msg, param_hint="N")
    return int(told)


def _tell(services: Services, done: Changed[Queue], *, as_json: bool) -> None:
    (line,) = services.queries.queues(done.after.name).queues
    if as_json:
        document({"queue": line, "position": done.position})
    else:
        tell_queue(line)


for _name_of, _command in (
    ("list", list_queues),
    ("pause", pause),
    ("resume", resume),
    ("limit", limit),
):
    queues.add_command(_command, _name_of)
