"""Cells as the worker holds them, and the forker that starts them on demand."""

import contextlib
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from infrastructure.processor.suspects.wire import Wire
from infrastructure.telemetry import emit

_FORKER: Final = """
import sys
sys.path[:] = sys.argv[3:]
from infrastructure.processor.suspects.forker import main
main(int(sys.argv[1]), sys.argv[2])
"""
STATUS: Final = struct.Struct("!i")
"""How a cell ended, as its leash tells."""

_MOMENT_SECONDS: Final = 0.5
"""Who is dying tells more than who was killed; and who has told its ending ends."""

_KILLED_SECONDS: Final = 5.0
"""A killed process is gone at once, unless the kernel cannot end it."""

_ORDER_SECONDS: Final = 5.0
_STOP_SECONDS: Final = 5.0


class Cell:
    """One cell; it lives no longer than this."""

    def __init__(self, end: socket.socket, leash: socket.socket, forker: int) -> None:
        """Hold both ends; `close` closes them."""
        self.wire = Wire(end)
        self.forker = forker
        self._end = end
        self._leash = leash
        self._word: bytes | None = None
        """How it ended; empty when nobody is left who knows."""
        self.is_deaf = False
        """Whether its keeper was told to end it, and has neither done so nor ended."""

    def exit_code(self) -> int | None:
        """Return how the process ended (as `subprocess` tells it), having waited.

        Who does not end in a moment is killed.  None: nobody is left who could tell.
        """
        if self._word is None:
            self._word = self._last_word(_MOMENT_SECONDS)
        if self._word is None:
            with contextlib.suppress(OSError):
                self._leash.send(b"k")
            self._word = self._last_word(_KILLED_SECONDS)
            self.is_deaf = self._word is None
            self._word = self._word or b""
        if len(self._word) != STATUS.size:
            return None
        (code,) = STATUS.unpack(self._word)
        return int(code)

    def _last_word(self, patience: float) -> bytes | None:
        try:
            self._leash.settimeout(patience)
            return self._leash.recv(STATUS.size)
        except TimeoutError:
            return None
        except OSError:
            return b""

    def close(self) -> None:
        """Return when the process is gone, or `is_deaf`."""
        self._end.close()
        self.exit_code()
        self._leash.close()


class Warden:
    """Starts cells for the threads of one worker."""

    def __init__(
        self, module: str, environ: Mapping[str, str], path: Sequence[str]
    ) -> None:
        """Let a forker that has imported `module` start them; it starts when needed."""
        self._module = module
        self._environ = dict(environ)
        # A handler may go to another folder, where what is relative leads elsewhere.
        self._path = tuple(str(Path(each).absolute()) for each in path)
        self._forker: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._lock = threading.Lock()

    @property
    def pid(self) -> int | None:
        """The forker's pid, once there is one."""
        return None if self._forker is None else self._forker.pid

    def cell(self) -> Cell:
        """Return a new cell.

        Raises:
            OSError: there is none to be had.
        """
        with self._lock:
            if self._forker is None or self._forker.poll() is not None:
                self._end()
                self._start()
            return self._ordered()

    def _start(self) -> None:
        ours, theirs = socket.socketpair()
        command = [sys.executable, "-c", _FORKER, str(theirs.fileno()), self._module]
        with theirs:
            try:
                self._forker = subprocess.Popen(  # noqa: S603 - our own interpreter and code
                    [*command, *self._path],
                    env=self._environ,
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                    # A key that ends the worker in a terminal is told to him alone.
                    start_new_session=True,
                )
            except OSError:
                ours.close()
                raise
        self._control = ours

    def renew(self, forker: int) -> None:
        """End this forker, and every cell with it; the next cell gets another one.

        One of those between us and a cell is stopped, and would never say a word again.
        """
        with self._lock:
            if self.pid == forker:
                emit("cells are deaf", forker=forker)
                self._end()

    def close(self) -> None:
        """End the forker, and every cell with it."""
        with self._lock:
            self._end()

    def _end(self) -> None:
        if self._control is not None:
            self._control.close()
            self._control = None
        if self._forker is not None:
            try:
                self._forker.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self._forker.kill()
                self._forker.wait()
            self._forker = None

    def _ordered(self) -> Cell:
        """Order a cell: the forker gets its ends of the wire and of the leash."""
        if self._control is None or self._forker is None:
            raise ConnectionError
        end, cells = socket.socketpair()
        leash, forkers = socket.socketpair()
        try:
            with cells, forkers:
                self._control.settimeout(_ORDER_SECONDS)
                fds = [cells.fileno(), forkers.fileno()]
                socket.send_fds(self._control, [b"c"], fds)
        except OSError:
            end.close()
            leash.close()
            raise
        return Cell(end, leash, self._forker.pid)
