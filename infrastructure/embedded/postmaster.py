"""Who `postmaster.pid` names: our server, nobody any more, or a stranger.

the pid is free ────────────────────► gone
died, and nobody has reaped it ─────► zombie
the postmaster of this directory ───► ours     (the only one ever signalled)
anything else ──────────────────────► foreign  (the number was used again)
"""

import os
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final, Literal

type Holder = Literal["gone", "zombie", "ours", "foreign"]

_PID, _PORT, _SOCKETS, _STATUS = 0, 3, 4, 7
"""Lines of postmaster.pid (src/include/utils/pidfile.h), the same in 15 to 18."""
_HAS_PROC: Final = Path("/proc/self/cmdline").exists()
_LOOK_SECONDS: Final = 0.02
_NAMES: Final = frozenset({"postgres", "postmaster"})


@dataclass(frozen=True, slots=True)
class PidFile:
    """What a server wrote about itself into its data directory."""

    pid: int
    port: int | None
    sockets: Path | None
    status: str


def read_pid_file(data: Path) -> PidFile | None:
    """Return what postmaster.pid says, or None when there is none to read."""
    try:
        lines = (data / "postmaster.pid").read_text("utf-8", "replace").splitlines()
        pid = int(lines[_PID])
    except (FileNotFoundError, IndexError, ValueError):
        return None
    lines += [""] * (_STATUS + 1 - len(lines))
    return PidFile(
        pid=abs(pid),  # negative: a stand-alone backend
        port=int(lines[_PORT]) if lines[_PORT].strip().isdecimal() else None,
        sockets=Path(lines[_SOCKETS]) if lines[_SOCKETS].strip() else None,
        status=lines[_STATUS].strip(),
    )


def holder(pid: int, data: Path) -> Holder:
    """Return whose process `pid` is, seen from the data directory `data`."""
    return holder_by_proc(pid, data) if _HAS_PROC else holder_by_ps(pid, data)


def holder_by_proc(pid: int, data: Path) -> Holder:
    """Return whose process it is by what Linux says about it."""
    process = Path("/proc", str(pid))
    try:
        state = (process / "stat").read_bytes().rpartition(b")")[2].split()[0]
        if state in {b"Z", b"X"}:
            return "zombie"
        argv = [
            os.fsdecode(word)
            for word in (process / "cmdline").read_bytes().split(b"\0")
        ]
        owner = process.stat().st_uid
    except (FileNotFoundError, ProcessLookupError):
        return "gone"
    except PermissionError:
        return "foreign"  # ours runs under an account that we may look at
    # A postmaster's children share its folder; their command is "postgres: …".
    named = Path(argv[0]).name in _NAMES
    here = named and (_told_by_option(argv) == str(data) or _works_in(process) == data)
    return "ours" if here and owner == data.stat().st_uid else "foreign"


def _told_by_option(argv: list[str]) -> str | None:
    return next((value for option, value in pairwise(argv) if option == "-D"), None)


def _works_in(process: Path) -> Path | None:
    """Return the working directory, which a postmaster makes its data directory."""
    try:
        return (process / "cwd").readlink()
    except OSError:
        return None  # a container's root may not look: the option tells alone


def holder_by_ps(pid: int, data: Path) -> Holder:
    """Return the same where there is no /proc: from the command line alone."""
    told = subprocess.run(  # noqa: S603 - a number of ours, no shell
        ["/bin/ps", "-ww", "-o", "stat=,uid=,command=", "-p", str(pid)],
        capture_output=True,
        check=False,
    )
    state, uid, command = (*os.fsdecode(told.stdout).split(None, 2), "", "", "")[:3]
    if not state:
        return "gone"
    if state.startswith("Z"):
        return "zombie"
    ours = (
        f" -D {data} -c " in command
        and Path(command.partition(" -D ")[0]).name in _NAMES
        and uid == str(data.stat().st_uid)
    )
    return "ours" if ours else "foreign"


def stop_postmaster(
    pid: int, data: Path, sign: signal.Signals, within_s: float
) -> bool:
    """Signal `pid` if it is our server, and return whether it is gone in time.

    The handle is opened before the look, so a number that passes to another
    process between look and signal leads nowhere.
    """
    if sys.platform != "linux":
        return _stop_by_number(pid, data, sign, within_s)
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        whose = holder(pid, data)
        if whose != "ours":
            return whose != "foreign"
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(handle, sign)
        waiting = select.poll()
        waiting.register(handle, select.POLLIN)  # readable once the process is gone
        return bool(waiting.poll(within_s * 1000))
    finally:
        os.close(handle)


def _stop_by_number(
    pid: int, data: Path, sign: signal.Signals, within_s: float
) -> bool:
    """See `stop_postmaster`; without handles the look comes just before."""
    whose = holder(pid, data)
    if whose != "ours":
        return whose != "foreign"
    with suppress(ProcessLookupError):
        os.kill(pid, sign)
    end = time.monotonic() + within_s
    while holder(pid, data) == "ours":
        if time.monotonic() > end:
            return False
        time.sleep(_LOOK_SECONDS)
    return True
