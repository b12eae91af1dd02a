"""The repository as its rules see it: tracked files, packages, parsed modules."""

import ast
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = (
    "domain",
    "application",
    "projections",
    "infrastructure",
    "api",
    "counterfoil",
)


@cache
def files() -> tuple[Path, ...]:
    """Return every file that is tracked, or would be: new ones count at once."""
    listed = subprocess.run(
        # safe.directory: a checkout mounted into a container has a foreign owner.
        ["git", "-c", "safe.directory=*", "ls-files", "-zco", "--exclude-standard"],  # noqa: S607 -- whichever git made the checkout
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    found = (ROOT / name for name in listed.split("\0") if name)
    return tuple(sorted(file for file in found if file.is_file()))


def modules(*folders: str) -> tuple[Path, ...]:
    """Return the Python files below `folders`, names relative to the root."""
    return tuple(
        file
        for file in files()
        if file.suffix == ".py" and file.relative_to(ROOT).parts[0] in folders
    )


def text_files() -> Iterator[tuple[Path, str]]:
    """Yield each file that is UTF-8 text, with its text."""
    for file in files():
        try:
            yield file, file.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue


def name(file: Path) -> str:
    """Return the path that a person would type."""
    return file.relative_to(ROOT).as_posix()


@cache
def parsed(file: Path) -> ast.Module:
    """Return the syntax tree of one module."""
    return ast.parse(file.read_text(encoding="utf-8"), filename=name(file))


def imported(file: Path) -> Iterator[tuple[int, str]]:
    """Yield line and full dotted name of everything that `file` imports."""
    for node in ast.walk(parsed(file)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            for alias in node.names:
                yield node.lineno, f"{node.module}.{alias.name}"
