"""What a handler may do to its process: each way that a test names."""

import ctypes
import os
import re
import resource
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

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


def kills_its_grandparent() -> Outcome:
    os.kill(grandparent(), signal.SIGKILL)
    return loops()


def grandparent() -> int:
    stat = Path(f"/proc/{os.getppid()}/stat").read_text(encoding="utf-8")
    return int(stat.rpartition(")")[2].split()[1])


def loops() -> Outcome:
    while True:
        pass


def holds_the_interpreter() -> Outcome:
    """Search for what takes longer than anybody has, without a pause."""
    return Completed(result={"found": bool(re.match(r"(a+)+$", "a" * 64 + "b"))})


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


def leaves_children() -> Outcome:
    """One in this session and one in another, both with all that is open here."""
    for is_daemon in (False, True):
        if os.fork() == 0:
            if is_daemon and os.fork() == 0:
                os.setsid()
                loops_quietly()
            elif is_daemon:
                os._exit(0)
            loops_quietly()
    return Completed()


def leaves_children_and_exits() -> Outcome:
    leaves_children()
    os._exit(7)


def comes_back_twice() -> Outcome:
    """The copy is first, and says something else."""
    copy = os.fork()
    if copy == 0:
        raise RuntimeError
    os.waitid(os.P_PID, copy, os.WEXITED | os.WNOWAIT)
    return Completed(result={"pid": os.getpid()})


def stops_its_parent() -> Outcome:
    os.kill(os.getppid(), signal.SIGSTOP)
    return Completed()


def stops_its_grandparent() -> Outcome:
    os.kill(grandparent(), signal.SIGSTOP)
    return Completed()


def loops_quietly() -> NoReturn:
    while True:
        signal.pause()


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
        kills_its_grandparent,
        loops,
        holds_the_interpreter,
        eats_memory,
        closes_every_file,
        leaves_a_thread,
        leaves_children,
        leaves_children_and_exits,
        comes_back_twice,
        stops_its_parent,
        stops_its_grandparent,
        writes_rubbish,
    )
}
