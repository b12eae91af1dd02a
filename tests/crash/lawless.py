"""What a handler may do to its process: each way that a test names."""

import ctypes
import os
import resource
import signal
import sys
import threading
from collections.abc import Callable

import msgspec

from domain.jobs.outcome import Completed, Outcome


class Lawless(msgspec.Struct, frozen=True):
    """Which way, and whether a provider is asked before."""

    way: str
    calls: bool = False


def exits() -> Outcome:
    os._exit(7)


def leaves() -> Outcome:
    sys.exit(7)


def segfaults() -> Outcome:
    ctypes.string_at(0)
    raise AssertionError


def aborts() -> Outcome:
    os.abort()


def kills_itself() -> Outcome:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def kills_its_parent() -> Outcome:
    os.kill(os.getppid(), signal.SIGKILL)
    return loops()


def loops() -> Outcome:
    while True:
        pass


def eats_memory() -> Outcome:
    """Whoever has a limit gets an error; a cell is ended by the kernel without one."""
    resource.setrlimit(resource.RLIMIT_AS, (2**29, 2**29))
    return Completed(result={"eaten": len(b"x" * 2**30)})


def closes_every_file() -> Outcome:
    os.closerange(0, 1_000)
    return loops()


def leaves_a_thread() -> Outcome:
    threading.Thread(target=loops).start()
    return Completed()


def writes_rubbish() -> Outcome:
    """Write into whatever is open, the wire too."""
    for fd in range(3, 64):
        try:
            os.write(fd, b"\xff" * 64)
        except OSError:
            continue
    return Completed()


WAYS: dict[str, Callable[[], Outcome]] = {
    found.__name__: found
    for found in (
        exits,
        leaves,
        segfaults,
        aborts,
        kills_itself,
        kills_its_parent,
        loops,
        eats_memory,
        closes_every_file,
        leaves_a_thread,
        writes_rubbish,
    )
}
