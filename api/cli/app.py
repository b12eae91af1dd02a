"""The command `counterfoil` as a whole: its groups, its exit codes, its errors.

0     done
1     refused or failed; standard error says in one sentence why
2     the command line makes no sense; standard error says what would
70    a worker ended because one of its threads had died
130   interrupted
"""

import traceback
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Final

import rich_click as click

from api.cli.access.people import people
from api.cli.access.tokens import tokens
from api.cli.attempts.history import history
from api.cli.callbacks.commands import callbacks
from api.cli.container.healthcheck import healthcheck
from api.cli.deliveries.commands import deliveries
from api.cli.demonstrating import demo
from api.cli.doctor.commands import doctor
from api.cli.history import events, why
from api.cli.jobs import job, jobs
from api.cli.kinds import kinds
from api.cli.letters.dead_letters import dead_letters
from api.cli.limits import limits
from api.cli.maintenance.commands import maintenance
from api.cli.operating import cancel, operate, retry
from api.cli.options import group, option
from api.cli.outbox.commands import outbox
from api.cli.output import complain, say
from api.cli.projections.commands import projections
from api.cli.providers.commands import providers
from api.cli.providers.credentials import credentials
from api.cli.queues.queues import queues
from api.cli.queues.workers import workers
from api.cli.restore.commands import restore_guard
from api.cli.running import api, migrate, up, worker
from api.cli.settling import refund, settle
from api.cli.simulating import simulate
from api.installation import Installation
from domain.errors import CounterfoilError

FAILED: Final = 1
USAGE: Final = 2
INTERRUPTED: Final = 130


def _show_version(context: click.Context, _: click.Parameter, asked: object) -> None:
    if asked:
        try:
            version = metadata.version("counterfoil")
        except metadata.PackageNotFoundError:
            version = "(not installed)"
        say(f"counterfoil {version}")
        context.exit()


@group
@option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show the version and exit.",
)
def counterfoil() -> None:
    r"""Deliver what was paid for, once, and prove what happened.

    \b
    Start here:
      counterfoil up                       database, migrations and a worker
      counterfoil settle orders.jsonl      what a shop was paid for
      counterfoil why ORDER                what happened, and what happens next
      counterfoil demo                     all of it on 6,919 real orders

    Settings are environment variables that begin with COUNTERFOIL_.  Every command
    takes --json.  Exit codes: 0 done, 1 refused or failed, 2 wrong usage.
    """


for _command in (
    up,
    api,
    worker,
    migrate,
    healthcheck,
    settle,
    refund,
    jobs,
    job,
    dead_letters,
    history,
    kinds,
    queues,
    workers,
    limits,
    doctor,
    events,
    why,
    retry,
    cancel,
    operate,
    deliveries,
    maintenance,
    outbox,
    projections,
    providers,
    credentials,
    restore_guard,
    callbacks,
    tokens,
    people,
    simulate,
    demo,
):
    counterfoil.add_command(_command)


def run(installation: Installation, arguments: Sequence[str]) -> int:
    """Return the exit code of one command; it never raises."""
    try:
        code = counterfoil.main(
            list(arguments),
            prog_name="counterfoil",
            standalone_mode=False,
            obj=installation,
        )
    except click.UsageError as error:
        return _refuse_usage(error)
    except click.ClickException as error:
        complain(error.format_message())
        return FAILED
    except CounterfoilError as error:
        complain(str(error))
        return FAILED
    except (click.Abort, KeyboardInterrupt):
        complain("interrupted")
        return INTERRUPTED
    except SystemExit as ended:
        # No arguments at all, or whoever read the output has left.
        return ended.code if isinstance(ended.code, int) else FAILED
    except UnicodeEncodeError:
        complain(f"{_unreadable(arguments)} is no text of UTF-8")
        return USAGE
    except OSError as error:
        complain(f"{error.filename or 'system'}: {error.strerror or error}")
        return FAILED
    except Exception as error:  # noqa: BLE001 - the edge's last resort: no traceback for a person
        complain(_bug(error))
        return FAILED
    return code if isinstance(code, int) else 0


def _refuse_usage(error: click.UsageError) -> int:
    if error.ctx is not None:
        path = error.ctx.command_path
        complain(f"{error.format_message()}  Try `{path} --help`.")
    else:
        complain(error.format_message())
    return USAGE


def _unreadable(arguments: Sequence[str]) -> str:
    """Return which argument is no text; names of files need not be."""
    before = ""
    for place, argument in enumerate(arguments, start=1):
        if any("\ud800" <= letter <= "\udfff" for letter in argument):
            return before if before.startswith("--") else f"argument {place}"
        before = argument
    return "a setting"


def _bug(error: Exception) -> str:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{Path(frame.filename).name}:{frame.lineno}"
    return (
        f"this is a fault of ours: {type(error).__name__} at {place}; please report it"
    )
