"""A module that starts a process of its own as soon as it is imported."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from application.context import Context
from application.job_kinds import Kinds, by_name
from domain.jobs.outcome import Completed, Outcome
from tests.crash.lawless import kills_its_parent
from tests.fixtures.workers import Args, kind

HELPER = subprocess.Popen(["/bin/sleep", "600"])


def asks(_args: Args, _ctx: Context) -> Outcome:
    stat = Path(f"/proc/{HELPER.pid}/stat").read_text(encoding="utf-8")
    return Completed(result={"state": stat.rpartition(")")[2].split()[0]})


def kills(_args: Args, _ctx: Context) -> Outcome:
    return kills_its_parent()


@contextmanager
def kinds(_text: str) -> Iterator[Kinds]:
    yield by_name(kind("asks", asks), kind("kills", kills))
