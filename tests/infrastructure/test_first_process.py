"""Process 1 reaps orphans, passes signals on and ends as the worker does."""

import os
import signal
import subprocess
import sys

import pytest

from tests.fixtures.processes import ROOT

FIRST = """
import os, signal, sys
from pathlib import Path
from infrastructure.first_process import leave_the_first_place
from infrastructure.processor.suspects.kin import become_guardian

become_guardian()  # as process 1 is, for all that are below it
leave_the_first_place(os.getpid())
"""

ENDS = FIRST + "os._exit(7)"

WAITS = (
    FIRST
    + """
def once(number, _):
    signal.signal(number, signal.SIG_DFL)
    print("asked", flush=True)
signal.signal(signal.SIGTERM, once)
print(os.getpid(), flush=True)
while True:
    signal.pause()
"""
)

LEAVES_AN_ORPHAN = (
    FIRST
    + """
hears, tells = os.pipe()
if os.fork() == 0:
    orphan = os.fork()
    if orphan:
        os.write(tells, str(orphan).encode())
    os._exit(0)
os.wait()
orphan = Path("/proc", os.read(hears, 20).decode())
while orphan.exists():
    pass
"""
)


def first(script: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )


def test_it_ends_with_the_exit_code_of_the_worker() -> None:
    with first(ENDS) as process:
        assert process.wait(60) == 7


def test_it_reaps_what_others_have_left() -> None:
    with first(LEAVES_AN_ORPHAN) as process:
        assert process.wait(60) == 0


def test_it_passes_a_signal_on_and_the_second_ends_the_worker() -> None:
    with first(WAITS) as process:
        assert process.stdout is not None
        worker = int(process.stdout.readline())
        process.send_signal(signal.SIGTERM)
        assert process.stdout.readline() == "asked\n"

        process.send_signal(signal.SIGTERM)

        assert process.wait(60) == 128 + signal.SIGTERM
        with pytest.raises(ProcessLookupError):
            os.kill(worker, 0)


def test_a_key_in_the_terminal_reaches_the_worker_once() -> None:
    """It is told to the whole foreground group, and process 1 passes it on."""
    with first(WAITS) as process:
        assert process.stdout is not None

        worker = int(process.stdout.readline())

        assert os.getpgid(worker) == worker

        process.kill()
        os.kill(worker, signal.SIGKILL)
