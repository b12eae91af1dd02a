"""The forker: a process without threads that forks cells, and ends with its worker.

It imports what the cells need and calls none of it.  For each cell it is sent two ends:
the wire, which goes to the cell, and a leash, which stays here.  What comes along a
leash, or its end, kills the cell; what goes back is how the cell ended.
"""

import contextlib
import importlib
import os
import select
import signal
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from infrastructure.processor.suspects.cell import enter
from infrastructure.processor.suspects.leash import STATUS

_ENDS: Final = 2
_CELL: Final = """
import socket, sys
sys.path[:] = sys.argv[3:]
from infrastructure.processor.suspects.cell import enter
enter(socket.socket(fileno=int(sys.argv[1])), int(sys.argv[2]))
"""


@dataclass(slots=True)
class _Cell:
    pid: int
    leash: socket.socket
    end: int
    """Readable once the process has ended."""


def main(control_fd: int, module: str) -> None:
    """Serve the worker at the other end of `control_fd`; return when it is gone."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # who ends is the worker's decision
    importlib.import_module(module)
    with socket.socket(fileno=control_fd) as control:
        Forker(control).serve()


class Forker:
    """Starts, kills and reaps cells, one step at a time."""

    def __init__(self, control: socket.socket) -> None:
        """Take orders from `control`."""
        self._control = control
        self._cells: list[_Cell] = []
        self._may_fork = _n_threads() == 1
        """An import that has started threads makes a fork unsafe: then the cells are
        started as new interpreters, which takes longer."""

    def serve(self) -> None:
        """Return when the worker is gone, and every cell with it."""
        while True:
            poll = select.poll()
            poll.register(self._control, select.POLLIN)
            for cell in self._cells:
                poll.register(cell.leash, select.POLLIN)
                poll.register(cell.end, select.POLLIN)
            ready = {fd for fd, _ in poll.poll()}
            for cell in self._cells:
                if cell.leash.fileno() in ready:
                    os.kill(cell.pid, signal.SIGKILL)  # not reaped yet, so still it
            if self._control.fileno() in ready and not self._take_order():
                break
            self._reap()
        for cell in self._cells:
            os.kill(cell.pid, signal.SIGKILL)

    def _take_order(self) -> bool:
        """Whether there was an order, and not the end."""
        _, ends, _, _ = socket.recv_fds(self._control, 1, _ENDS)
        if len(ends) != _ENDS:
            return False
        wire, leash = (socket.socket(fileno=fd) for fd in ends)
        with wire:
            pid = self._fork(wire, leash) if self._may_fork else _spawn(wire)
        self._cells.append(_Cell(pid, leash, os.pidfd_open(pid)))
        return True

    def _fork(self, wire: socket.socket, leash: socket.socket) -> int:
        forker = os.getpid()
        pid = os.fork()
        if pid == 0:
            for end in (self._control, leash, *(cell.leash for cell in self._cells)):
                end.close()
            for cell in self._cells:
                os.close(cell.end)
            enter(wire, forker)
        return pid

    def _reap(self) -> None:
        for cell in tuple(self._cells):
            pid, status = os.waitpid(cell.pid, os.WNOHANG)
            if pid == 0:
                continue
            self._cells.remove(cell)
            os.close(cell.end)
            with cell.leash, contextlib.suppress(OSError):  # nobody may wait for it
                cell.leash.send(STATUS.pack(os.waitstatus_to_exitcode(status)))


def _spawn(wire: socket.socket) -> int:
    command = [sys.executable, "-c", _CELL, str(wire.fileno()), str(os.getpid())]
    child = subprocess.Popen(  # noqa: S603 - our own interpreter and code
        [*command, *sys.path], pass_fds=[wire.fileno()]
    )
    # Reaped with all the others: the object must not do it.
    child.returncode = 0
    return child.pid


def _n_threads() -> int:
    try:
        return len(list(Path("/proc/self/task").iterdir()))
    except OSError:
        return 1
