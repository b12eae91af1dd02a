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

from api.cli.options import LazyCommands, group, option
from api.cli.output import complain, say
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


# Not when it is made: rich-click would look at each, and so import it.
counterfoil.commands = LazyCommands(
    {
        "up": "api.cli.running:up",
        "api": "api.cli.running:api",
        "worker": "api.cli.running:worker",
        "migrate": "api.cli.running:migrate",
        "healthcheck": "api.cli.container.healthcheck:healthcheck",
        "settle": "api.cli.settling:settle",
        "refund": "api.cli.settling:refund",
        "jobs": "api.cli.jobs:jobs",
        "job": "api.cli.jobs:job",
        "dead-letters": "api.cli.letters.dead_letters:dead_letters",
        "history": "api.cli.attempts.history:history",
        "kinds": "api.cli.kinds:kinds",
        "queues": "api.cli.queues.queues:queues",
        "workers": "api.cli.queues.workers:workers",
        "limits": "api.cli.limits:limits",
        "doctor": "api.cli.doctor.commands:doctor",
        "events": "api.cli.history:events",
        "why": "api.cli.history:why",
        "retry": "api.cli.operating:retry",
        "cancel": "api.cli.operating:cancel",
        "operate": "api.cli.operating:operate",
        "deliveries": "api.cli.deliveries.commands:deliveries",
        "maintenance": "api.cli.maintenance.commands:maintenance",
        "outbox": "api.cli.outbox.commands:outbox",
        "projections": "api.cli.projections.commands:projections",
        "providers": "api.cli.providers.commands:providers",
        "credentials": "api.cli.providers.credentials:credentials",
        "restore-guard": "api.cli.restore.commands:restore_guard",
        "callbacks": "api.cli.callbacks.commands:callbacks",
        "tokens": "api.cli.access.tokens:tokens",
        "people": "api.cli.access.people:people",
        "simulate": "api.cli.simulating:simulate",
        "demo": "api.cli.demonstrating:demo",
    }
)


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
