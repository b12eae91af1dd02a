"""The group `callbacks`: `list`, `show`, `record` and `replay`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final
from uuid import UUID

import rich_click as click

from api.cli.callbacks.told import (
    complaint_of,
    show_callback,
    show_callbacks,
    tell_receipt,
)
from api.cli.operating import instruction_of, reasoned
from api.cli.options import FILE, argument, as_json, command, group, option
from api.cli.output import complain, document
from api.cli.providers.commands import provider, tenant_of
from api.installation import Installation
from application.callbacks.callback import FAILED, REJECTED, STATUSES
from application.callbacks.looking import line_of
from application.callbacks.record import Receipt
from application.errors import NotFoundError
from domain.text import storable

_FAILED: Final = 1
_MOST: Final = 1000
_NAME: Final = 128
_MOST_HEADERS: Final = 64 * 1024

_callback = argument("callback", metavar="ID")


@group
def callbacks() -> None:
    r"""See what providers told by themselves, and tell it again.

    A callback is recorded if its provider has signed it (Standard Webhooks, with the
    webhookSecret of its credential), once per event, before anything follows from it.
    Its body is sealed, kept for 30 days, and never shown.

    \b
    Examples:
      counterfoil callbacks list --status failed
      counterfoil callbacks record stars --headers headers.txt --body body.json
      counterfoil callbacks replay ID --reason "its order is here now"
    """


@command
@option(
    "--status",
    type=click.Choice(STATUSES),
    help="Only these; failed and ignored ones can be replayed.",
)
@option("--provider", metavar="PROVIDER", help="Only of this provider.")
@option(
    "--limit",
    type=click.IntRange(1, _MOST),
    default=50,
    show_default=True,
    help="How many, the newest first.",
)
@as_json
@click.pass_obj
def list_callbacks(
    installation: Installation,
    *,
    status: str | None,
    provider: str | None,
    limit: int,
    as_json: bool,
) -> None:
    r"""Show the latest callbacks and what became of them.

    \b
    Examples:
      counterfoil callbacks list
      counterfoil callbacks list --status failed --provider stars --json
    """
    with installation.open() as services:
        found = services.callbacks.book.latest(
            status=status, provider=provider and storable(provider, _NAME), limit=limit
        )
    lines = [line_of(each) for each in found]
    document({"callbacks": lines}) if as_json else show_callbacks(lines)


@command
@_callback
@as_json
@click.pass_obj
def show(installation: Installation, callback: str, *, as_json: bool) -> None:
    r"""Show one callback: when it came, of which event, and what became of it.

    \b
    Examples:
      counterfoil callbacks show 01976f3e-0000-7000-8000-000000000001
      counterfoil callbacks show 01976f3e-0000-7000-8000-000000000001 --json
    """
    with installation.open() as services:
        found = services.callbacks.book.find(_id_of(callback))
    if found is None:
        what = "callback"
        raise NotFoundError(what, callback)
    line = line_of(found)
    document(line) if as_json else show_callback(line)


def _id_of(given: str) -> UUID:
    try:
        return UUID(given.strip())
    except ValueError as error:
        msg = "the id of a callback, as `counterfoil callbacks list` shows it"
        raise click.BadParameter(msg, param_hint="ID") from error


@command
@provider
@option(
    "--headers",
    type=FILE,
    required=True,
    help="The request's headers as they came, a line each: `webhook-id: …`.",
)
@option("--body", type=FILE, required=True, help="The body, byte by byte.")
@tenant_of
@as_json
@click.pass_obj
def record(  # noqa: PLR0913 - the options of the command, one to one
    installation: Installation,
    provider: str,
    *,
    headers: Path,
    body: Path,
    tenant: str,
    as_json: bool,
) -> None:
    r"""Take a callback that a provider has sent, as a web server would hand it on.

    Whatever it is, it goes on record.  The same event once more is a duplicate and
    changes nothing.  A signature is good for five minutes.

    \b
    Examples:
      counterfoil callbacks record stars --headers headers.txt --body body.json
    """
    told, content = _headers_in(headers), body.read_bytes()
    with installation.open() as services:
        receipt = services.callbacks.record(tenant, provider, told, content)
    _tell(receipt, as_json=as_json)


def _tell(receipt: Receipt, *, as_json: bool) -> None:
    """Write what became of it; what is refused or has failed is an error."""
    is_bad = receipt.status in {REJECTED, FAILED}
    if as_json:
        document(receipt)
    elif not is_bad:
        tell_receipt(receipt)
    if is_bad:
        complain(complaint_of(receipt))
        raise SystemExit(_FAILED)


def _headers_in(file: Path) -> Mapping[str, str]:
    """Return the headers; a line that is none (a status line) is passed over."""
    text = file.read_bytes()[:_MOST_HEADERS].decode("latin-1")
    lines = (line.partition(":") for line in text.splitlines())
    return {name.strip(): value.strip() for name, colon, value in lines if colon}


@command
@_callback
@reasoned
@as_json
@click.pass_obj
def replay(
    installation: Installation, callback: str, *, reason: str, as_json: bool
) -> None:
    r"""Tell its delivery again what a failed or ignored callback says.

    \b
    Examples:
      counterfoil callbacks replay ID --reason "its order is here now"
    """
    instruction = instruction_of(reason)
    with installation.open() as services:
        receipt = services.callbacks.replay(callback, instruction)
    _tell(receipt, as_json=as_json)


for _name, _command in (
    ("list", list_callbacks),
    ("show", show),
    ("record", record),
    ("replay", replay),
):
    callbacks.add_command(_command, _name)
