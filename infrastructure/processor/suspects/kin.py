"""The processes below this one, as the kernel knows them: to end what outlives its job.

Who loses its parent below a guardian becomes the guardian's child, whatever session it
has gone to, so that nothing that a handler started can get away from it.
"""

import ctypes
import os
import signal
import sys
from collections.abc import Container
from pathlib import Path
from typing import Final

_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36


def die_with_parent() -> None:
    """Let the kernel end this process when its parent ends."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def become_guardian() -> None:
    """Let everything below this process that loses its parent become its child."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value)


def end_all_but(spared: Container[int]) -> None:
    """End every child that is not `spared`, and what becomes a child by that."""
    beyond: set[int] = set()
    while strays := [
        pid for pid in children() if pid not in spared and pid not in beyond
    ]:
        for pid in strays:
            try:
                os.kill(pid, signal.SIGKILL)
            except PermissionError:
                beyond.add(pid)  # it has become another user, who has to end it
            else:
                os.waitpid(pid, 0)


def children() -> list[int]:
    """Return this process's children; those of its main thread, where it has one."""
    listed = Path(f"/proc/self/task/{os.getpid()}/children")
    try:
        return [int(pid) for pid in listed.read_text(encoding="ascii").split()]
    except OSError:
        return []
