"""Which process this is, so that any other on the machine can tell when it has ended.

A pid alone says little: it is counted in a namespace, on one boot of one kernel, and
is used again.  With all three and the moment of the start it means one process for
ever.  A namespace's number may be used again too, but only once every process in it
has ended, and those that come later have started later.
"""

import os
import socket
from contextlib import suppress
from pathlib import Path
from typing import Final
from uuid import UUID

from domain.goods.events import Sender

_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")
_OWN: Final = Path("/proc/self")
_LONGEST_HOST: Final = 255
_STARTED_FIELD: Final = 19
"""`starttime`, counted from the state, which follows the name (proc(5), field 22)."""

UNKNOWN: Final = ""
"""The machine of whoever cannot tell: nothing is ever proved about its processes."""


def who_sends(boot: UUID) -> Sender:
    """Return the process that calls this, under the boot id of its worker's claims."""
    pid = os.getpid()
    started = started_of(pid)
    return Sender(
        host=socket.gethostname()[:_LONGEST_HOST],
        machine=UNKNOWN if started is None else this_machine(),
        pid=pid,
        started=started or 0,
        boot=boot,
    )


def this_machine() -> str:
    """Return the booted kernel with this process's namespace of pids, if it can tell.

    What is mounted as /proc may belong to another namespace; then it tells nothing.
    """
    with suppress(OSError, ValueError):
        if int(str(_OWN.readlink())) == os.getpid():
            boot_id = _BOOT_ID.read_text(encoding="ascii").strip()
            return " ".join((boot_id, _namespace("pid"), _namespace("time")))
    return UNKNOWN


def _namespace(kind: str) -> str:
    """Return a namespace of this process; ticks are counted in one of time."""
    try:
        return str((_OWN / "ns" / kind).readlink())
    except FileNotFoundError:
        return f"{kind}:"  # a kernel without namespaces of the kind


def started_of(pid: int) -> int | None:
    """Return when a process was started, in ticks of the kernel; None: not known."""
    fields = stat_of(pid)
    with suppress(ValueError, IndexError):
        return int(fields[_STARTED_FIELD])
    return None


def stat_of(pid: int) -> list[str]:
    """Return what /proc tells of a process, from its state on; empty: nothing."""
    try:
        told = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    # The name is anything at all, in brackets; what follows the last one is ours.
    return told.rpartition(")")[2].split()
