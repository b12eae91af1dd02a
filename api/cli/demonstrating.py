"""`demo`: the main job on real orders while things break."""

import sys
import time
from pathlib import Path

import rich_click as click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from api.cli.options import as_json, command
from api.cli.output import document, say, screen
from api.demo_result import DemoProgress, DemoResult, PlayedDemo
from api.installation import Installation

_WORST = 3
"""Disagreements that are shown of each question; --json has them all."""


@command
@as_json
@click.pass_obj
@click.pass_context
def demo(context: click.Context, installation: Installation, *, as_json: bool) -> None:
    r"""Settle and fulfil 6,919 real orders while things break, then compare the books.

    A simulated panel fails in 3 % of all requests, in every way in turn; of three
    worker processes two are killed and one is frozen past its lease.  Operators change
    what customers have, who buy meanwhile, refund, and find what somebody has changed
    at the panel itself; in the middle the panel is closed for maintenance.  In the end
    the panel's own book, and what those people know that they did, are compared with
    the log; the read models tell how many attempts there were, who is dead and why, and
    what waited for what, and are compared with all of these and with a fold of the
    whole log.  Exits with 0 only if nothing disagrees.
    The data stay in demo/ below COUNTERFOIL_DATA_DIR (./var), until the next demo.

    \b
    Examples:
      counterfoil demo
      counterfoil demo --json > result.json
    """
    console = Console(stderr=True, highlight=False)
    bar = Progress(
        TextColumn("{task.fields[counts]}"),
        BarColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    with bar:
        task = bar.add_task("demo", total=None, counts="starting")

        said_at = time.monotonic()

        def show(now: DemoProgress) -> None:
            nonlocal said_at
            counts = f"{now.settled:,} settled, {now.fulfilled:,} fulfilled"
            bar.update(
                task, total=now.settled or None, completed=now.fulfilled, counts=counts
            )
            if not console.is_terminal and time.monotonic() - said_at > _SAID_EVERY_S:
                said_at = time.monotonic()
                console.print(counts)

        played = installation.demo(console.print, show)
    if as_json:
        document(_plain(played))
    else:
        _show(played.result)
        say(*_where_to_look(played))
    context.exit(0 if played.result.is_right else 1)


_SAID_EVERY_S = 10
"""Between two lines of progress where no bar can be drawn."""


def _plain(played: PlayedDemo) -> dict[str, object]:
    result = played.result
    return {
        "right": result.is_right,
        "seconds": round(result.seconds, 1),
        "figures": {name.strip(): figure for name, figure in result.figures},
        "answers": result.answers,
        "findings": [
            {
                "question": finding.question,
                "compared": finding.compared,
                "disagreements": finding.disagreements,
            }
            for finding in result.findings
        ],
        "exitCodes": list(result.exit_codes),
        "folder": str(played.folder),
    }


def _show(result: DemoResult) -> None:
    console = screen()
    table = Table("what", "how many", box=None, pad_edge=False)
    table.columns[1].justify = "right"
    for name, figure in result.figures:
        table.add_row(name, figure)
    console.print(table)
    answers = Table("the read models tell", "", box=None, pad_edge=False)
    for asked, told in result.lines:
        answers.add_row(asked, told)
    console.print()
    console.print(answers)
    checks = Table("the log against the other books", "compared", "disagree", box=None)
    checks.columns[1].justify = checks.columns[2].justify = "right"
    for finding in result.findings:
        wrong = len(finding.disagreements)
        style = "red" if wrong else "green"
        checks.add_row(
            finding.question, f"{finding.compared:,}", f"[{style}]{wrong:,}[/{style}]"
        )
    console.print()
    console.print(checks)
    for finding in result.findings:
        for sentence in finding.disagreements[:_WORST]:
            console.print(f"  {sentence}", style="red", markup=False)
    console.print()


def _where_to_look(played: PlayedDemo) -> list[str]:
    # As it was called, so that the lines can be copied.
    called = sys.argv[0] if Path(sys.argv[0]).name == "counterfoil" else "counterfoil"
    setting = f"COUNTERFOIL_DATA_DIR={played.folder} {called}"
    verdict = "everything agrees" if played.result.is_right else "SOMETHING DISAGREES"
    return [
        f"{verdict}, after {played.result.seconds:.0f} s",
        f"the data stay in {played.folder}; look at them:",
        f"  {setting} why cdnow:17",
        f"  {setting} dead-letters",
        f"  {setting} history",
        f"  {setting} events --limit 20",
    ]
