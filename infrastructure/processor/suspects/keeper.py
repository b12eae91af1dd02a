"""A keeper: the parent of one cell, and of whatever the cell leaves behind.

    forker ──► keeper ──► cell ──► what its handler starts

What comes along the leash, or its end, ends the cell.  When the cell has ended, all
that it has started is ended too, and then the keeper tells how the cell did.  Without
a forker it ends everything and says nothing: that was not the doing of this cell.
"""

import contextlib
import os
import select
import signal
import socket
from typing import Final, NoReturn

from infrastructure.processor.suspects.cell import enter
from infrastructure.processor.suspects.kin import become_guardian, end_all_but
from infrastructure.processor.suspects.leash import STATUS

_LOOK_MS: Final = 500
"""A copy of an end that somebody holds hides that the worker is gone."""


def keep(wire: socket.socket, leash: socket.socket, forker: int) -> NoReturn:
    """Live as the keeper of one new cell; the process ends here."""
    code = os.EX_SOFTWARE
    try:
        _keep(wire, leash, forker)
        code = os.EX_OK
    finally:
        os._exit(code)


def _keep(wire: socket.socket, leash: socket.socket, forker: int) -> None:
    os.setsid()
    become_guardian()
    pid = _forked(wire, leash)
    end = os.pidfd_open(pid)
    is_alone = _waited(end, leash, forker)
    # Not reaped before the rest is gone: until then its number is nobody else's.
    _end_group(pid)
    end_all_but({pid})
    _, status = os.waitpid(pid, 0)
    end_all_but(())
    if not is_alone:
        with contextlib.suppress(OSError):  # nobody may wait for it
            leash.send(STATUS.pack(os.waitstatus_to_exitcode(status)))


def _forked(wire: socket.socket, leash: socket.socket) -> int:
    keeper = os.getpid()
    with wire:
        pid = os.fork()
        if pid == 0:
            leash.close()
            enter(wire, keeper)
    return pid


def _waited(end: int, leash: socket.socket, forker: int) -> bool:
    """Whether the forker is gone, once the cell has ended or is to live no longer."""
    poll = select.poll()
    poll.register(end, select.POLLIN)
    poll.register(leash, select.POLLIN)
    while not poll.poll(_LOOK_MS) and os.getppid() == forker:
        pass
    return os.getppid() != forker


def _end_group(pid: int) -> None:
    """End a process and its group; it may not have one of its own yet."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
