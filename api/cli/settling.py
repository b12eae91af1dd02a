"""`settle` and `refund`: the orders of a file, and one whose money went back."""

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

import msgspec
import rich_click as click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from api.cli.options import FILE, argument, as_json, command, option
from api.cli.output import aside, document, say
from api.installation import Installation
from application.order_map import OrderMapError
from application.settle_file import Progress as Count
from application.settle_file import Refusal, SettledFile, settle_file
from domain.event import JsonObject

_WHOLE: Final = ""
"""Path of the map itself."""
_MOST_TOLD: Final = 50
"""Refused lines that are told one by one to a person; --json has them all."""


@command
@argument("file", type=FILE)
@option(
    "--map",
    "map_file",
    type=FILE,
    help="JSON settlement whose strings name columns of FILE.",
)
@as_json
@click.pass_obj
@click.pass_context
def settle(
    context: click.Context,
    installation: Installation,
    file: Path,
    map_file: Path | None,
    *,
    as_json: bool,
) -> None:
    r"""Settle the orders of FILE, each in a transaction of its own.

    FILE holds JSON lines, a settlement each, or CSV with a header and a map that says
    what its columns mean.  A line that is refused is told with its number and the
    member that is wrong; the rest is settled.  Settling the same file again changes
    nothing.  Exits with 1 when any line was refused.

    \b
    In a map, {column} is a column's text, {row} the order's number in the file, and
    {column:minor} a decimal amount in minor units of the currency:
      {"orderId": "shop:{row}", "customerId": "{customer}", "kind": "purchase",
       "currency": "USD", "amountMinor": "{price:minor}",
       "lines": [{"line": 1, "type": "access", "days": 30}]}

    \b
    Examples:
      counterfoil settle orders.jsonl
      counterfoil settle examples/cdnow_orders.csv --map examples/cdnow.json
    """
    template = None if map_file is None else _read_map(map_file)
    with installation.open() as services, _watched(file) as (stream, watch):
        result = settle_file(stream, template, services.settle_order, watch)
    if as_json:
        document(result)
    else:
        _tell(file, result)
    context.exit(1 if result.refused else 0)


@command
@argument("order", metavar="ORDER")
@option(
    "--reason",
    required=True,
    metavar="TEXT",
    help="Why, in 3 to 400 characters; it stays in the log.",
)
@option(
    "--line",
    "lines",
    type=int,
    multiple=True,
    metavar="N",
    help="Only this line of the order, may be repeated; all when left out.",
)
@option(
    "--amount-minor",
    type=int,
    metavar="N",
    help="What went back, in minor units; what was paid for the lines when left out.",
)
@option("--tenant", default="default", show_default=True, help="Whose order it is.")
@as_json
@click.pass_obj
def refund(  # noqa: PLR0913 - the options of the command, one to one
    installation: Installation,
    order: str,
    *,
    reason: str,
    lines: tuple[int, ...],
    amount_minor: int | None,
    tenant: str,
    as_json: bool,
) -> None:
    r"""Record that the money of ORDER went back, and end the access that it granted.

    ORDER is the shop's own id.  The money itself is the shop's business.  A refund is
    asked for once per order: the same again answers the same, another one is refused.
    A job decides what it means: access that the order has granted is disabled on the
    panel; an order that is not delivered yet is not delivered any more.

    \b
    Examples:
      counterfoil refund A-1001 --reason "charged back"
      counterfoil why A-1001
    """
    request: JsonObject = {
        "tenant": tenant,
        "orderId": order,
        "reason": reason,
        "lines": list(lines) or None,
        "amountMinor": amount_minor,
    }
    with installation.open() as services:
        asked = services.refund_order(request)
    if as_json:
        document(asked)
        return
    before = ", as it was before" if asked.replayed else ""
    say(f"the refund of order {order} is asked for{before}; job {asked.job_id}")
    if asked.stream_id is None:
        aside(f"no order {order} is settled here: its job waits for a person", "red")


def _read_map(file: Path) -> JsonObject:
    try:
        return msgspec.json.decode(file.read_bytes(), type=JsonObject)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        told = f"{file} is no JSON object: {error}"
        raise OrderMapError(_WHOLE, told) from error


@contextmanager
def _watched(
    file: Path,
) -> Generator[tuple[IO[bytes], Callable[[Count], None]]]:
    """Give the file, and what draws a bar of how much of it is read."""
    bar = Progress(
        TextColumn("settling"),
        BarColumn(),
        TextColumn("{task.fields[counts]}"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
        disable=not sys.stderr.isatty(),
    )
    with file.open("rb") as stream, bar:
        size = file.stat().st_size if stream.seekable() else None
        task = bar.add_task("settling", total=size, counts="")

        def watch(count: Count) -> None:
            read = stream.tell() if size is not None else 0
            bar.update(task, completed=read, counts=_summary(count))

        yield stream, watch


def _summary(count: Count) -> str:
    return (
        f"{count.settled:,} settled, {count.replayed:,} settled before, "
        f"{count.refused:,} refused"
    )


def _tell(file: Path, result: SettledFile) -> None:
    for refusal in result.refused[:_MOST_TOLD]:
        aside(_sentence(file, refusal), "red")
    left = len(result.refused) - _MOST_TOLD
    if left > 0:
        aside(f"… and {left:,} more refused lines; --json tells all of them", "red")
    count = Count(
        settled=result.settled, replayed=result.replayed, refused=len(result.refused)
    )
    say(f"{file}: {_summary(count)}")


def _sentence(file: Path, refusal: Refusal) -> str:
    member = f" {refusal.path}:" if refusal.path else ""
    return f"{file}:{refusal.line}:{member} {refusal.detail} ({refusal.code})"
