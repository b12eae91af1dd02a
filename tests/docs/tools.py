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
import argparse, sys, urllib.error, urllib.request
parser = argparse.ArgumentParser()
parser.add_argument("url")
parser.add_argument("-s", action="store_true")
parser.add_argument("-S", action="store_true")
parser.add_argument("-i", action="store_true")
parser.add_argument("-X")
parser.add_argument("-d")
parser.add_argument("-o")
parser.add_argument("-H", action="append", default=[])
told = parser.parse_args()
headers = dict(header.split(": ", 1) for header in told.H)
data = None if told.d is None else told.d.encode()
asked = urllib.request.Request(told.url, data, headers, method=told.X)
try:
    answer = urllib.request.urlopen(asked)
except urllib.error.HTTPError as refused:
    answer = refused
with answer:
    body = answer.read()
if told.i:
    lines = [f"HTTP/1.1 {answer.status} {answer.reason}"]
    lines += [f"{name.lower()}: {value}" for name, value in answer.headers.items()]
    body = "\\n".join(lines).encode() + b"\\n\\n" + body
if told.o:
    with open(told.o, "wb") as kept:
        kept.write(body)
else:
    sys.stdout.buffer.write(body)
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
