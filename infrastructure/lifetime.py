"""A worker process from its start to its end: signals, and threads that die.

SIGTERM, SIGINT        polite stop, exit code 0
a second one           ends the process at once, as the signal does by itself
a thread that raised   exit code 70: better no worker than half of one
a handler's own thread is the handler's affair, and only told of
"""

import os
import signal
import sys
import threading
import weakref
from collections.abc import Generator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Final, Protocol

from infrastructure.errors import InfrastructureError, place_of
from infrastructure.telemetry import emit

DEAD_THREAD: Final = 70
"""EX_SOFTWARE of sysexits.h."""

_LOOK_SECONDS: Final = 0.5

_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


class Runnable(Protocol):
    """What runs in threads of its own."""

    def start(self) -> None:
        """Begin."""
        ...

    def stop(self) -> None:
        """Return when it has stopped."""
        ...


_NO_THREADS: Final = (
    "raise the limits of processes and memory, or run less at once "
    "(COUNTERFOIL_QUEUE_CRITICAL and its siblings)"
)


def work_until_stopped(worker: Runnable) -> None:
    """Run `worker` until a signal asks it to stop; return when it has stopped.

    Raises:
        InfrastructureError: the system gives no more threads.
    """
    threading.excepthook = _end_the_process
    with _stop_signal() as stop:
        try:
            worker.start()
        except RuntimeError as error:
            msg = f"{error}; {_NO_THREADS}"
            raise InfrastructureError(msg) from error
        _ours.update(threading.enumerate())
        # Not for ever: a signal that arrives while the main thread is stopped (SIGCONT,
        # then SIGTERM at once) is taken by another thread and wakes this one not.
        while not stop.wait(_LOOK_SECONDS):
            pass
        worker.stop()


def leave(code: int) -> None:
    """End the process now: a handler inside a provider call cannot hold it up."""
    for stream in (sys.stdout, sys.stderr):
        # Its disk may be full; a handler may have closed it, or put anything there.
        with suppress(Exception):
            stream.flush()
    os._exit(code)


@contextmanager
def _stop_signal() -> Generator[threading.Event]:
    stop = threading.Event()

    def ask_to_stop(_number: int, _frame: FrameType | None) -> None:
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        stop.set()

    for number in _SIGNALS:
        signal.signal(number, ask_to_stop)
    yield stop


_ours: weakref.WeakSet[threading.Thread] = weakref.WeakSet()
"""The threads of the worker itself; none known means that it has just begun."""


def _end_the_process(died: threading.ExceptHookArgs) -> None:
    is_ours = not _ours or died.thread in _ours
    if died.exc_type is SystemExit and not is_ours:
        return  # a thread of a handler's own may end like that
    # The kind and place alone: a message may hold what a provider said (I12).
    emit(
        "thread died" if is_ours else "thread of a handler died",
        thread=died.thread.name if died.thread is not None else "unknown",
        error=died.exc_type.__name__,
        place=place_of(died.exc_traceback),
    )
    if is_ours:
        leave(DEAD_THREAD)
