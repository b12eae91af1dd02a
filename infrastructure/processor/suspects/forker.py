"""The forker: a process without threads that forks cells, and ends with its worker.

It imports what the cells need and calls none of it.  For each cell it is sent two
ends, the wire and the leash, and forks a keeper, which forks the cell.  A keeper that
was ended itself says nothing any more; then the forker tells in its place.
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

from infrastructure.processor.suspects.keeper import keep
from infrastructure.processor.suspects.kin import (
    become_guardian,
    children,
    end_all_but,
)
from infrastructure.processor.suspects.leash import STATUS
from infrastructure.telemetry import emit

_ENDS: Final = 2
_LOOK_MS: Final = 1_000
"""A copy of an end that somebody holds hides that the worker is gone."""

_KEEPER: Final = """
import socket, sys
sys.path[:] = sys.argv[4:]
from infrastructure.processor.suspects.keeper import keep
keep(*(socket.socket(fileno=int(fd)) for fd in sys.argv[1:3]), int(sys.argv[3]))
"""


@dataclass(slots=True)
class _Keeper:
    pid: int
    leash: socket.socket
    end: int
    """Readable once the process has ended."""


def main(control_fd: int, module: str) -> None:
    """Serve the worker at the other end of `control_fd`; return when it is gone."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # who ends is the worker's decision
    become_guardian()
    importlib.import_module(module)
    with socket.socket(fileno=control_fd) as control:
        Forker(control).serve()


class Forker:
    """Starts and reaps keepers, one step at a time."""

    def __init__(self, control: socket.socket) -> None:
        """Take orders from `control`."""
        self._control = control
        self._worker = os.getppid()
        self._keepers: list[_Keeper] = []
        self._helpers = frozenset(children())
        """What an import has started, for whoever forks from here."""
        self._may_fork = _n_threads() == 1
        """An import that has started threads makes a fork unsafe: then the keepers are
        started as new interpreters, which takes longer."""

    def serve(self) -> None:
        """Return when the worker is gone, and every cell with it."""
        while os.getppid() == self._worker:
            poll = select.poll()
            poll.register(self._control, select.POLLIN)
            for keeper in self._keepers:
                poll.register(keeper.end, select.POLLIN)
            ready = {fd for fd, _ in poll.poll(_LOOK_MS)}
            if self._control.fileno() in ready and not self._take_order():
                break
            self._reap()
        for keeper in self._keepers:
            os.kill(keeper.pid, signal.SIGKILL)  # not reaped yet, so still it
        end_all_but(())

    def _take_order(self) -> bool:
        """Whether there was an order, and not the end."""
        order, ends, _, _ = socket.recv_fds(self._control, 1, _ENDS)
        if not order:
            return False
        with contextlib.ExitStack() as stack:
            got = [stack.enter_context(socket.socket(fileno=fd)) for fd in ends]
            if len(got) == _ENDS:
                self._start(*got)
        return True

    def _start(self, wire: socket.socket, leash: socket.socket) -> None:
        try:
            mine = leash.dup()
            try:
                pid = self._fork(wire, leash) if self._may_fork else _spawn(wire, leash)
                self._keepers.append(_Keeper(pid, mine, os.pidfd_open(pid)))
            except OSError:
                mine.close()
                raise
        except OSError as error:
            # Too many processes or files: whoever ordered it sees that none has begun.
            emit("no cell", error=type(error).__name__)

    def _fork(self, wire: socket.socket, leash: socket.socket) -> int:
        forker = os.getpid()
        pid = os.fork()
        if pid == 0:
            for end in (self._control, *(it.leash for it in self._keepers)):
                end.close()
            for keeper in self._keepers:
                os.close(keeper.end)
            keep(wire, leash, forker)
        return pid

    def _reap(self) -> None:
        for keeper in tuple(self._keepers):
            pid, status = os.waitpid(keeper.pid, os.WNOHANG)
            if pid == 0:
                continue
            self._keepers.remove(keeper)
            os.close(keeper.end)
            code = os.waitstatus_to_exitcode(status)
            with keeper.leash, contextlib.suppress(OSError):  # nobody may wait for it
                if code != os.EX_OK:
                    kept = {it.pid for it in self._keepers}
                    end_all_but(kept | self._helpers)
                    keeper.leash.send(STATUS.pack(code))


def _spawn(wire: socket.socket, leash: socket.socket) -> int:
    ends = (wire.fileno(), leash.fileno())
    command = [sys.executable, "-c", _KEEPER, *map(str, (*ends, os.getpid()))]
    child = subprocess.Popen([*command, *sys.path], pass_fds=ends)  # noqa: S603 - our own interpreter and code
    # Reaped with all the others: the object must not do it.
    child.returncode = 0
    return child.pid


def _n_threads() -> int:
    try:
        return len(list(Path("/proc/self/task").iterdir()))
    except OSError:
        return 1
