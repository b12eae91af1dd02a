"""Documents as a reader sees them: fenced blocks in order, and what is said of each.

    ```console        commands after `$ `, continued after `> `, and their output
    ```sql            statements; what PostgreSQL says follows as a comment
    ```python         the next part of the document's one program; `#> ` is printed
    ```python FILE    a file that later commands use

Any other language (`text`, `json`, `csv`) is shown and not run.  A comment right
before a block says what a reader sees for himself:

    <!-- not run: REASON -->       the reason why no test runs the block
    <!-- keeps running -->         a terminal of its own: the command is not waited for
    <!-- exits with N -->          the last command's exit code, when it is not 0
    <!-- time passes: N s -->      the database's clock moves on before the block
    <!-- ctrl-c: COMMAND -->       ends what an earlier block keeps running
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

RUN = frozenset({"console", "sql", "python"})
SHOWN = frozenset({"text", "json", "csv", ""})

_FENCE = re.compile(r"^```(?P<language>\w*)(?: (?P<file>[\w./-]+))?$")
_WORDS = ("not run", "keeps running", "exits with", "time passes", "ctrl-c")


@dataclass(frozen=True)
class Command:
    """One command and what the document shows of its output."""

    text: str
    shown: tuple[str, ...]


@dataclass
class Block:
    """One fenced block."""

    line: int
    language: str
    file: str | None
    said: dict[str, str]
    lines: list[str] = field(default_factory=list[str])

    @property
    def text(self) -> str:
        """Everything between the fences."""
        return "\n".join(self.lines) + "\n"

    @property
    def is_run(self) -> bool:
        """Whether a test runs it."""
        return self.language in RUN and "not run" not in self.said

    def commands(self) -> Iterator[Command]:
        """Yield the commands of a console, each with its output."""
        command: list[str] = []
        shown: list[str] = []
        for line in self.lines:
            if line.startswith("$ "):
                if command:
                    yield Command("\n".join(command), tuple(shown))
                command, shown = [line[2:]], []
            elif line.startswith("> ") and not shown:
                command.append(line[2:])
            else:
                shown.append(line)
        yield Command("\n".join(command), tuple(shown))

    def statements(self) -> Iterator[Command]:
        """Yield SQL statements, each with the comments that follow it."""
        statement: list[str] = []
        answers: list[str] = []
        for line in [*self.lines, ""]:
            if line.startswith("-- ") and statement:
                answers.append(line.removeprefix("-- "))
                continue
            if answers or (statement and statement[-1].endswith(";")):
                yield Command("\n".join(statement), tuple(answers))
                statement, answers = [], []
            if line:
                statement.append(line)


def blocks(document: Path) -> list[Block]:
    """Return the fenced blocks of a document, in order."""
    found: list[Block] = []
    said: dict[str, str] = {}
    is_open = False
    for number, line in enumerate(document.read_text("utf-8").splitlines(), start=1):
        fence = _FENCE.match(line)
        if is_open:
            is_open = line != "```"
            if is_open:
                found[-1].lines.append(line)
        elif fence is not None:
            is_open = True
            found.append(Block(number, fence["language"], fence["file"], said))
            said = {}
        elif line.startswith("<!-- "):
            said |= _said(line)
        elif line:
            said = {}
    return found


def _said(line: str) -> dict[str, str]:
    for word in _WORDS:
        if line.startswith(f"<!-- {word}"):
            value = line.removeprefix(f"<!-- {word}").removesuffix(" -->")
            return {word: value.strip(": ")}
    msg = f"a comment that means nothing to the tests: {line}"
    raise ValueError(msg)
