"""Stand-ins for `sqlite3`, `curl` and `pip`, which tests must not need or change.

A person who follows the documents uses the real ones; these do what the documents
ask of them, and nothing else.  Packages are really built, and installed into a folder
of the document's own instead of the developer's environment.
"""

import stat
import sys
from pathlib import Path

SQLITE3 = """
import contextlib, sqlite3, sys
file, statement = sys.argv[1:]
with contextlib.closing(sqlite3.connect(file)) as book:
    for row in book.execute(statement):
        print("|".join("" if cell is None else str(cell) for cell in row))
"""

CURL = """
import sys, urllib.request
silent, url, sends, data, into, file, *more = sys.argv[1:]
assert (silent, sends, into) == ("-s", "-d", "-o"), sys.argv
assert set(more[::2]) <= {"-H"}, sys.argv
headers = dict(header.split(": ") for header in more[1::2])
asked = urllib.request.Request(url, data.encode(), headers)
with urllib.request.urlopen(asked) as answer, open(file, "wb") as kept:
    kept.write(answer.read())
"""

SITE = "site-packages"
"""Where packages are installed, beside the stand-ins."""

PIP = f"""
import sys
from pathlib import Path
from tests.fixtures.packages import install
command, package = sys.argv[1:]
assert command == "install", sys.argv
install(Path(package), Path(__file__).parents[1] / "{SITE}")
"""


def install(folder: Path) -> Path:
    """Return `folder`, which holds the stand-ins now; it belongs first in PATH."""
    folder.mkdir()
    for name, script in (("sqlite3", SQLITE3), ("curl", CURL), ("pip", PIP)):
        program = folder / f"stand_in_for_{name}.py"
        program.write_text(script)
        tool = folder / name
        # Not `#!python`: the path of an interpreter may hold spaces.
        tool.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{program}" "$@"\n')
        tool.chmod(tool.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    return folder
